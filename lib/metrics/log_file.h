// log.txt: what the run said, with times.
#pragma once

#include <memory>
#include <string>

namespace mpt {

class LogFile {
  public:
    explicit LogFile(const std::string& path);  // appends; throws Error(kResource)
    ~LogFile();
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;
    void info(const std::string& text);  // several lines become several entries
    void warn(const std::string& text);
    void error(const std::string& text);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mpt
