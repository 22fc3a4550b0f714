#include "config/words.h"

namespace mpt {

std::string_view name_of(ModelType value) {
    return word_of(value);
}
std::string_view name_of(TokenizerType value) {
    return word_of(value);
}
std::string_view name_of(PrecisionMode value) {
    return word_of(value);
}
std::string_view name_of(LossScalePreset value) {
    return word_of(value);
}
std::string_view name_of(HysteresisRefill value) {
    return word_of(value);
}
std::string_view name_of(AtFloor value) {
    return word_of(value);
}
std::string_view name_of(DataType value) {
    return word_of(value);
}
std::string_view name_of(IfMissing value) {
    return word_of(value);
}
std::string_view name_of(OptimizerType value) {
    return word_of(value);
}
std::string_view name_of(ParameterKind value) {
    return word_of(value);
}
std::string_view name_of(ScheduleType value) {
    return word_of(value);
}
std::string_view name_of(BestMetric value) {
    return word_of(value);
}
std::string_view name_of(AutotuneMode value) {
    return word_of(value);
}
std::string_view name_of(Recompute value) {
    return word_of(value);
}
std::string_view name_of(ConsoleStyle value) {
    return word_of(value);
}

}  // namespace mpt
