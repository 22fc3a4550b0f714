// Forecasts beside published rows: of all networks that this build has, or of one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "study/jobs.h"
#include "study/step_family.h"
#include "study/study.h"

namespace mpt {

class Calibration {
  public:
    Calibration() : Calibration(std::string()) {}
    explicit Calibration(const std::string& network);  // in published rows' words; empty: all
    std::vector<Job> jobs();                           // make what rows() reads; it must not move meanwhile
    std::vector<CalibrationRow> rows() const;

  private:
    // A network's rows differ in their batches: a micro-step at any of them lies between two.
    struct Network {
        RunConfig config;
        DescribedData data;
        std::map<std::pair<PrecisionMode, Style>, std::unique_ptr<StepFamily>> families;
    };
    CalibrationRow row(const PublishedRate& rate, const Network& network) const;

    std::map<std::string, Network> networks_;
};

}  // namespace mpt
