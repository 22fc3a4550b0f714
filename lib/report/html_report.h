// One page that shows runs side by side and needs nothing from the network.
#pragma once

#include <string>
#include <vector>

#include "report/run_record.h"

namespace mpt {

// A picture that goes with a run, e.g. of its memory.
struct ReportPicture {
    std::string run, title, svg;
};

std::string html_report(const std::vector<RunRecord>& runs, const std::vector<ReportPicture>& pictures);

}  // namespace mpt
