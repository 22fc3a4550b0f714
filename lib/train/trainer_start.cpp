// From the request to the point where the first update can run.
#include <fmt/core.h>

#include <algorithm>

#include "config/read.h"
#include "core/error.h"
#include "dataset/text/tokenizer.h"
#include "train/durable_file.h"
#include "train/text_tokenizer.h"
#include "train/trainer_state.h"

namespace mpt {
namespace {

ProgressStyle wanted_style(ConsoleStyle style) {
    switch (style) {
        case ConsoleStyle::kBar:
            return ProgressStyle::kBar;
        case ConsoleStyle::kPlain:
            return ProgressStyle::kPlain;
        case ConsoleStyle::kQuiet:
            return ProgressStyle::kQuiet;
        case ConsoleStyle::kAuto:
            break;
    }
    return ProgressStyle::kAuto;
}

std::string batch_words(const RunConfig& config) {
    if (config.model.type == ModelType::kTransformer)
        return fmt::format("batches of {} tokens in {} micro-steps", config.train.batch_tokens,
                           config.train.accumulate);
    return fmt::format("batch {} in {} micro-steps", config.train.batch_size, config.train.accumulate);
}

// Labels mean what they meant when the weights were trained.
void check_classes(const std::string& checkpoint, const std::vector<std::string>& then,
                   const std::vector<std::string>& now) {
    if (then.empty() || now.empty() || then == now) return;
    const auto [before, after] = std::mismatch(then.begin(), then.end(), now.begin(), now.end());
    const auto named = [](auto at, auto end) { return at == end ? std::string("none") : *at; };
    throw Error(
        ExitCode::kCheckpoint,
        fmt::format("{}: was trained with other classes: class {} was {}, in the data it is {}; start "
                    "with --init-from to train for these",
                    checkpoint, before - then.begin(), named(before, then.end()), named(after, now.end())));
}

std::vector<ExtraFile> tokenizer_files(const RunTokenizers& tokenizers) {
    std::vector<ExtraFile> extras;
    const auto add = [&](const std::shared_ptr<const Tokenizer>& tokenizer, const std::string& folder) {
        if (!tokenizer) return;
        for (TokenizerFile& file : tokenizer->files())
            extras.push_back({folder + "/" + file.name, std::move(file.bytes)});
    };
    add(tokenizers.target, "tokenizer");
    if (tokenizers.source && tokenizers.source != tokenizers.target)
        add(tokenizers.source, "source_tokenizer");
    return extras;
}

}  // namespace

// Everything that can be refused is refused before the directory is touched. Returns false when asked to
// stop.
bool Trainer::prepare() {
    check_supported(config_);
    start_ = find_start(directory_, request_.resume, request_.existing);
    TrainedWith trained;
    if (start_.checkpoint) {
        trained.tokenizer = tokenizer_of_checkpoint(start_.checkpoint->head.path.string());
        trained.normalization = start_.checkpoint->state.normalization;
        // A model of another number of classes is told by its tensors.
        const std::vector<std::string>& names = start_.checkpoint->state.class_names;
        if (static_cast<std::int64_t>(names.size()) == config_.model.num_classes) {
            trained.checkpoint = start_.checkpoint->head.path.string();
            trained.class_names = names;
        }
    }
    try {
        data_ = open_data(config_, trained, ask(request_.stop));
    } catch (const Stopped&) {
        return false;
    }
    if (must_stop()) return false;
    const StreamPosition position = start_.checkpoint ? start_.checkpoint->state.position : StreamPosition{};
    program_ = std::make_unique<TrainingProgram>(config_, data_->description, num_threads(config_),
                                                 request_.runs_on ? request_.runs_on() : run_device(config_));
    if (must_stop()) return false;
    expect_batches(*program_, *data_, position);
    bleu_ = make_bleu_scorer(config_, *data_);
    program_->check_fits(program_->available_bytes() - (bleu_ ? bleu_->working_bytes() : 0));
    feed_ = data_->training_feed(position);
    program_->allocate();
    program_->initialize(config_.seed);
    load_start();
    nothing_left_ = start_.continues && finished() && !state_.evaluation_due;
    if (nothing_left_) return true;  // the finished run's files stay as they are
    if (request_.stop != nullptr) request_.stop->begin_work();
    open_directory();
    announce();
    return true;
}

void Trainer::open_directory() {
    directory_.lock();
    const bool continues = start_.continues;
    if (!continues) directory_.remove_run();
    std::string id = continues ? start_.checkpoint->head.run_id : new_run_id();
    if (continues && std::filesystem::exists(directory_.metrics())) {
        const TrainingState& at = start_.checkpoint->state;
        const RowsToKeep keep = {at.control.attempted, at.loss.count > 0, at.evaluation_due};
        replace_file(directory_.metrics(), rows_to_keep(read_text_file(directory_.metrics()), keep));
    }
    directory_.write_run_id(id);
    replace_file(directory_.config(), request_.resolved);
    log_ = std::make_unique<RunLog>(
        directory_, possible_style(wanted_style(config_.log.console), request_.console), request_.console);
    if (config_.log.tensorboard)
        log_->open_events(directory_.events().string(),
                          continues ? start_.checkpoint->state.control.attempted : 0);
    watch_ = std::make_unique<RunWatch>(config_, directory_, data_->description.total_updates, *program_,
                                        *log_, request_.machine);
    store_ = std::make_unique<CheckpointStore>(directory_.checkpoints(), std::move(id),
                                               config_.checkpoint.keep, tokenizer_files(data_->tokenizers()));
    if (const int leftovers = store_->clean_up(); leftovers > 0)
        log_->note(fmt::format("removed {} leftovers of an interrupted checkpoint", leftovers));
}

void Trainer::announce() {
    for (const std::string& warning : request_.warnings) log_->warn(warning);
    for (const std::string& warning : data_->warnings) log_->warn(warning);
    if (program_->precision_mode() != config_.precision.mode)
        log_->warn(fmt::format("precision.mode: {} is not for {}; precision.fallback takes {}",
                               name_of(config_.precision.mode), name_of_device(program_->device()),
                               name_of(program_->precision_mode())));
    for (const std::string& warning : warnings_for(config_, data_->description.updates_per_epoch))
        log_->warn(warning);
    for (const std::string& notice : start_.notices) log_->warn(notice);
    if (config_.checkpoint.best == BestMetric::kBleu && !bleu_)
        log_->warn("the data has no text to translate: there is no BLEU, and so no best checkpoint");
    const DataDescription& d = data_->description;
    log_->say(fmt::format("run {} in {}", config_.name, directory_.path().string()));
    log_->say("data: " + data_->summary());
    log_->say(fmt::format("{} updates an epoch, {} in all, {}, {} threads", d.updates_per_epoch,
                          d.total_updates, batch_words(config_), num_threads(config_)));
    log_->say_lines(program_->precision_summary());
    log_->say(program_->decay_summary());
    if (bleu_) log_->say(bleu_->summary());
    const std::string memory = print(program_->memory());
    log_->say_lines(memory.substr(0, memory.find_last_not_of('\n') + 1));
    if (config_.debug.dump_graph) {
        replace_file(directory_.graph(), program_->graph_text());
        replace_file(directory_.plan(), program_->plan_text());
        log_->say("graphs and plan: " + directory_.graph().string() + ", " + directory_.plan().string());
    }
    if (!start_line_.empty()) log_->say_lines(start_line_);
}

// What the weights mean something only with goes into every checkpoint.
void Trainer::keep_meaning() {
    state_.class_names = data_->class_names();
    state_.normalization = {data_->description.mean, data_->description.std};
}

void Trainer::load_start() {
    state_.seed = config_.seed;
    state_.data = data_->identity();
    if (!start_.checkpoint) {
        state_.control = program_->control();
        keep_meaning();
        if (!config_.checkpoint.init_from.empty()) start_line_ = load_initial_weights(*program_, config_);
        return;
    }
    state_ = restore(*program_, *start_.checkpoint, config_, state_.data, &start_.notices);
    check_classes(start_.checkpoint->head.path.string(), state_.class_names, data_->class_names());
    keep_meaning();
    elapsed_before_ = state_.elapsed;
    last_checkpoint_ = start_.checkpoint->head.path.string();
    if (start_.continues) saved_step_ = step();
    start_line_ = fmt::format("resumed from {} at update {}", last_checkpoint_, step());
}

}  // namespace mpt
