// Every key of the config. A new key is a member of RunConfig and a row here.
#include <limits>

#include "config/key_table.h"

namespace mpt {
namespace {

std::vector<Key> run_keys() {
    return {
        with_default(text_key(
                         "name", "a name without / and not beginning with . or -",
                         [](auto& c) -> auto& { return c.name; }, parse_run_name,
                         "the run's name, in logs and in output_dir"),
                     "the file's name without .yaml"),
        also_called(whole(
                        "seed", [](auto& c) -> auto& { return c.seed; },
                        {0, std::numeric_limits<std::int64_t>::max()},
                        "start of every random number; same seed, same run"),
                    {"random_seed"}),
        text_key(
            "device", "auto, cpu, cuda or cuda:N", [](auto& c) -> auto& { return c.device; }, parse_device,
            "where to train; auto: a GPU if there is one, else the CPU"),
        with_default(
            also_called(path_key(
                            "output_dir", [](auto& c) -> auto& { return c.output_dir; },
                            "the run directory: config, metrics, log, checkpoints"),
                        {"output", "out_dir", "run_dir", "run_path", "save_dir", "output_directory"}),
            "runs/NAME in the working directory"),
        also_called(
            whole(
                "threads", [](auto& c) -> auto& { return c.threads; },
                {.min = 1, .max = 1024, .unset_word = "auto"}, "CPU threads that compute; auto: one a core"),
            {"num_threads"}),
        on_off(
            "deterministic", [](auto& c) -> auto& { return c.deterministic; },
            "on a GPU, only algorithms whose bits are the same in every run; on a CPU they always are"),
        choice<AutotuneMode>(
            "autotune.mode", [](auto& c) -> auto& { return c.autotune.mode; },
            "algorithms of a GPU's libraries: their first choice (off), the journal's or their first, or the "
            "journal's or the fastest on this GPU"),
        whole(
            "autotune.workspace_mib", [](auto& c) -> auto& { return c.autotune.workspace_mib; }, {0, 65536},
            "most memory that one call of a GPU's libraries may take beside its data"),
    };
}

std::vector<Key> precision_keys() {
    return {
        choice<PrecisionMode>(
            "precision.mode", [](auto& c) -> auto& { return c.precision.mode; },
            "what is stored and computed narrow; masters stay f32 except in fp16_pure"),
        overrides_key(),
        on_off(
            "precision.fallback", [](auto& c) -> auto& { return c.precision.fallback; },
            "widen what the device lacks, and log it, instead of refusing"),
        only_if(
            whole(
                "precision.fp8.history", [](auto& c) -> auto& { return c.precision.fp8.history; }, {1, 1024},
                "micro-steps that the scale of a tensor looks back on for its greatest magnitude"),
            "precision.mode", {"fp8"}),
        only_if(whole(
                    "precision.fp8.margin", [](auto& c) -> auto& { return c.precision.fp8.margin; }, {0, 8},
                    "powers of two that a scale leaves free above that magnitude"),
                "precision.mode", {"fp8"}),
    };
}

std::vector<Key> loss_scale_keys() {
    const auto scale = [](auto& c) -> auto& {
        return c.precision.loss_scale;
    };
    return {
        choice<LossScalePreset>(
            "precision.loss_scale.preset", [](auto& c) -> auto& { return c.precision.loss_scale.preset; },
            "the rule's constants; auto: default in amp_fp16, static at 1024 in fp16_pure, else off"),
        also_called(real(
                        "precision.loss_scale.init", [scale](auto& c) -> auto& { return scale(c).init; },
                        {.min = kSmallest, .max = kLargest, .unset_word = "auto"},
                        "first scale; presets static and nvidia_rn50 need it"),
                    {"init_scale", "initial_scale", "scale"}),
        real(
            "precision.loss_scale.growth_factor",
            [scale](auto& c) -> auto& { return scale(c).growth_factor; },
            {.min = 1, .max = 65536, .above_min = true, .unset_word = "auto"},
            "the scale is multiplied by this after growth_interval clean updates in a row"),
        whole(
            "precision.loss_scale.growth_interval",
            [scale](auto& c) -> auto& { return scale(c).growth_interval; },
            {.min = 1, .max = kMany, .unset_word = "auto"}, "clean updates in a row before growth"),
        also_called(
            real(
                "precision.loss_scale.backoff", [scale](auto& c) -> auto& { return scale(c).backoff; },
                {.min = 0, .max = 1, .above_min = true, .below_max = true, .unset_word = "auto"},
                "the scale is multiplied by this on overflow"),
            {"backoff_factor"}),
        whole(
            "precision.loss_scale.hysteresis", [scale](auto& c) -> auto& { return scale(c).hysteresis; },
            {.min = 1, .max = kMany, .unset_word = "auto"},
            "overflows it takes before the scale backs off; 1: the first"),
        choice<HysteresisRefill>(
            "precision.loss_scale.hysteresis_refill",
            [scale](auto& c) -> auto& { return scale(c).hysteresis_refill; },
            "when spent hysteresis comes back: at growth, or by every clean update (consecutive)"),
        real(
            "precision.loss_scale.floor", [scale](auto& c) -> auto& { return scale(c).floor; },
            {.min = kSmallest, .max = kLargest, .unset_word = "auto", .zero_word = "none"},
            "the scale never goes below"),
        also_called(
            real(
                "precision.loss_scale.ceiling", [scale](auto& c) -> auto& { return scale(c).ceiling; },
                {.min = kSmallest, .max = kLargest, .unset_word = "auto", .zero_word = "none"},
                "the scale never goes above"),
            {"max_scale"}),
        whole(
            "precision.loss_scale.max_skips_at_floor",
            [scale](auto& c) -> auto& { return scale(c).max_skips_at_floor; },
            {.min = 1, .max = kMany, .unset_word = "auto"},
            "skipped updates in a row at the floor before at_floor stop ends the run"),
        choice<AtFloor>(
            "precision.loss_scale.at_floor", [scale](auto& c) -> auto& { return scale(c).at_floor; },
            "overflow at the floor: end with exit 4 (stop), or hold the scale and go on (skip, clamp)"),
    };
}

std::vector<Key> data_keys() {
    return {
        choice<DataType>(
            "data.type", [](auto& c) -> auto& { return c.data.type; },
            "format of the data; synthetic needs no files"),
        only_if(also_called(optional_path_key(
                                "data.path", [](auto& c) -> auto& { return c.data.path; },
                                "the data: a folder; of text and pairs a file, of tokens a file or a folder"),
                            {"root", "dir", "folder", "data_dir"}),
                "data.type", {"idx", "cifar10", "imagefolder", "shards", "text", "tokens", "parallel"}),
        whole(
            "data.image_size", [](auto& c) -> auto& { return c.data.image_size; },
            {.min = 4, .max = 4096, .unset_word = "auto"},
            "height and width in pixels; auto: as stored, pictures and synthetic 224 or 32 by the model's "
            "stem"),
        only_if(whole(
                    "data.channels", [](auto& c) -> auto& { return c.data.channels; },
                    {.min = 1, .max = 64, .unset_word = "auto"},
                    "of pictures (3 or 1) and synthetic images; auto: 3"),
                "data.type", {"synthetic", "imagefolder", "shards"}),
        only_if(whole(
                    "data.num_samples", [](auto& c) -> auto& { return c.data.num_samples; }, {1, 10000000},
                    "synthetic training images, windows or pairs an epoch"),
                "data.type", {"synthetic", "imagefolder", "shards", "tokens", "text", "parallel"}),
        whole(
            "data.train_limit", [](auto& c) -> auto& { return c.data.train_limit; },
            {.min = 1, .max = kMany, .unset_word = "auto"},
            "train on N samples: the first (images, windows of a text, pairs), or of pictures every class "
            "its share; auto: all"),
        whole(
            "data.eval_limit", [](auto& c) -> auto& { return c.data.eval_limit; },
            {.min = 1, .max = kMany, .unset_word = "auto"},
            "evaluate on N samples: the first, or of pictures every class its share; auto: all"),
        on_off(
            "data.shuffle", [](auto& c) -> auto& { return c.data.shuffle; },
            "a new order every epoch, from seed and epoch"),
        on_off(
            "data.drop_last", [](auto& c) -> auto& { return c.data.drop_last; },
            "leave out the short batch at the end of an epoch"),
        also_called(whole(
                        "data.workers", [](auto& c) -> auto& { return c.data.workers; }, {0, 256},
                        "threads that prepare batches; 0: the training thread does"),
                    {"num_workers"}),
        whole(
            "data.prefetch", [](auto& c) -> auto& { return c.data.prefetch; }, {1, 1024},
            "batches prepared ahead"),
        choice<IfMissing>(
            "data.if_missing", [](auto& c) -> auto& { return c.data.if_missing; },
            "when the data is not there: end with exit 3, or train on synthetic images or random tokens"),
    };
}

std::vector<Key> augment_keys() {
    return {
        also_called(
            whole(
                "data.augment.crop_padding", [](auto& c) -> auto& { return c.data.augment.crop_padding; },
                {0, 512}, "pad training images by this on each side and crop at random; 0: off"),
            {"padding", "pad"}),
        also_called(on_off(
                        "data.augment.horizontal_flip",
                        [](auto& c) -> auto& { return c.data.augment.horizontal_flip; },
                        "mirror half of the training images"),
                    {"flip", "hflip"}),
        normalize_key(),
    };
}

std::vector<Key> train_keys() {
    return {
        with_default(
            also_called(whole(
                            "train.epochs", [](auto& c) -> auto& { return c.train.epochs; }, {1, 1000000},
                            "length of the run in passes over the data; not with steps"),
                        {"num_epochs", "max_epochs", "n_epochs"}),
            "1, unless steps is given"),
        with_default(also_called(whole(
                                     "train.steps", [](auto& c) -> auto& { return c.train.steps; },
                                     {1, kLongest}, "length of the run in updates; not with epochs"),
                                 {"num_steps", "max_steps", "iterations", "updates"}),
                     "none"),
        also_called(
            whole(
                "train.batch_size", [](auto& c) -> auto& { return c.train.batch_size; }, {1, 1048576},
                "samples (images, windows of text) that one update consumes; transformer: batch_tokens"),
            {"batch", "minibatch", "batchsize"}),
        only_if(
            also_called(whole(
                            "train.batch_tokens", [](auto& c) -> auto& { return c.train.batch_tokens; },
                            {1, 1073741824}, "tokens of a side, padding included, that one update consumes"),
                        {"max_tokens_per_batch"}),
            "model.type", {"transformer"}),
        also_called(whole(
                        "train.accumulate", [](auto& c) -> auto& { return c.train.accumulate; }, {1, 1048576},
                        "micro-steps that a batch is split into; divides batch_size"),
                    {"accumulation", "accumulation_steps", "gradient_accumulation", "grad_accum"}),
        also_called(whole(
                        "train.eval_batch_size", [](auto& c) -> auto& { return c.train.eval_batch_size; },
                        {.min = 1, .max = 1048576, .unset_word = "auto"},
                        "samples at a time in evaluation; auto: batch_size / accumulate"),
                    {"val_batch_size", "test_batch_size"}),
        real(
            "train.label_smoothing", [](auto& c) -> auto& { return c.train.label_smoothing; },
            {.min = 0, .max = 1, .below_max = true}, "share of the target spread over all classes"),
        also_called(duration(
                        "train.eval_every", [](auto& c) -> auto& { return c.train.eval_every; },
                        {.zero_word = "never"}, "how often to evaluate; the end of a run always is"),
                    {"eval_interval"}),
        also_called(whole(
                        "train.log_every", [](auto& c) -> auto& { return c.train.log_every; }, {1, kMany},
                        "updates from one metrics line to the next"),
                    {"log_interval"}),
        also_called(whole(
                        "train.early_stop", [](auto& c) -> auto& { return c.train.early_stop; },
                        {.min = 0, .max = kMany, .zero_word = "off"},
                        "end after this many evaluations without improvement of checkpoint.best"),
                    {"patience", "early_stopping"}),
        whole(
            "train.warmup_steps", [](auto& c) -> auto& { return c.train.warmup_steps; }, {0, kMany},
            "first updates that images/s leaves out; the learning rate's is schedule.warmup"),
        whole(
            "train.max_nonfinite", [](auto& c) -> auto& { return c.train.max_nonfinite; }, {1, kMany},
            "non-finite updates in a row before exit 4; a loss scale above 1 may halve first"),
    };
}

std::vector<Key> optimizer_keys() {
    const std::string type = "optimizer.type";
    Key exclude = list_key<ParameterKind>(
        "optimizer.exclude_from_decay", "a list of " + joined(all_words<ParameterKind>()),
        [](auto& c) -> auto& { return c.optimizer.exclude_from_decay; },
        [](const YamlItem& item, ParameterKind& kind) {
            return parse_word(item.kind == YamlItem::Kind::kScalar ? item.text : "", kind);
        },
        [](ParameterKind kind) { return std::string(word_of(kind)); },
        "parameters without weight decay; [] for none");
    return {
        choice<OptimizerType>(
            type, [](auto& c) -> auto& { return c.optimizer.type; },
            "the update rule; weight decay is decoupled in adamw and lamb"),
        with_default(also_called(real(
                                     "optimizer.lr", [](auto& c) -> auto& { return c.optimizer.lr; },
                                     {0, kLargest}, "base learning rate, which schedule varies"),
                                 {"learning_rate", "base_lr", "rate"}),
                     "0.1 for sgd and lars, 0.001 for adam, adamw and lamb"),
        only_if(real(
                    "optimizer.momentum", [](auto& c) -> auto& { return c.optimizer.momentum; },
                    {.min = 0, .max = 1, .below_max = true}, "share of the last step that is kept"),
                type, {"sgd", "lars"}),
        only_if(on_off(
                    "optimizer.nesterov", [](auto& c) -> auto& { return c.optimizer.nesterov; },
                    "look ahead by the momentum"),
                type, {"sgd"}),
        only_if(real(
                    "optimizer.beta1", [](auto& c) -> auto& { return c.optimizer.beta1; },
                    {.min = 0, .max = 1, .below_max = true}, "decay of the first moment"),
                type, {"adam", "adamw", "lamb"}),
        only_if(real(
                    "optimizer.beta2", [](auto& c) -> auto& { return c.optimizer.beta2; },
                    {.min = 0, .max = 1, .below_max = true}, "decay of the second moment"),
                type, {"adam", "adamw", "lamb"}),
        only_if(also_called(real(
                                "optimizer.epsilon", [](auto& c) -> auto& { return c.optimizer.epsilon; },
                                {kSmallest, 1}, "added to the root of the second moment"),
                            {"eps"}),
                type, {"adam", "adamw", "lamb"}),
        also_called(real(
                        "optimizer.weight_decay", [](auto& c) -> auto& { return c.optimizer.weight_decay; },
                        {0, 1e6}, "pull towards 0; added to the gradient, decoupled in adamw and lamb"),
                    {"decay", "wd", "l2"}),
        exclude,
        also_called(real(
                        "optimizer.clip_norm", [](auto& c) -> auto& { return c.optimizer.clip_norm; },
                        {.min = 0, .max = kLargest, .zero_word = "off"},
                        "scale the whole gradient down to this norm, after unscaling"),
                    {"clip", "max_norm", "max_grad_norm", "grad_clip"}),
        also_called(real(
                        "optimizer.ema", [](auto& c) -> auto& { return c.optimizer.ema; },
                        {.min = 0, .max = 1, .below_max = true, .zero_word = "off"},
                        "decay of a moving average of the weights, which evaluation then uses"),
                    {"ema_decay"}),
        only_if(
            real(
                "optimizer.trust_coefficient", [](auto& c) -> auto& { return c.optimizer.trust_coefficient; },
                {.min = 0, .max = 1e6, .above_min = true}, "of the layer-wise rate"),
            type, {"lars"}),
    };
}

std::vector<Key> schedule_keys() {
    const std::string type = "schedule.type";
    Key milestones = list_key<Duration>(
        "schedule.milestones", "a list of updates ([500, 800]) or epochs ([30 epochs, 60 epochs])",
        [](auto& c) -> auto& { return c.schedule.milestones; },
        [](const YamlItem& item, Duration& value) {
            return item.kind == YamlItem::Kind::kScalar ? parse_in(DurationRange{}, item.text, value)
                                                        : std::string("is no length of training");
        },
        [](const Duration& value) { return print_value(value); }, "where the rate is multiplied by gamma");
    return {
        choice<ScheduleType>(
            type, [](auto& c) -> auto& { return c.schedule.type; },
            "how the learning rate falls after the warm-up"),
        duration(
            "schedule.warmup", [](auto& c) -> auto& { return c.schedule.warmup; }, {.zero_word = "none"},
            "rise to lr in equal steps: update k of w uses lr * k / w"),
        only_if(
            duration(
                "schedule.length", [](auto& c) -> auto& { return c.schedule.length; }, {.unset_word = "auto"},
                "where min_lr is reached, counted with the warm-up; auto: the end of the run"),
            type, {"cosine", "poly", "linear"}),
        only_if(milestones, type, {"step"}),
        only_if(real(
                    "schedule.gamma", [](auto& c) -> auto& { return c.schedule.gamma; },
                    {.min = 0, .max = 1, .above_min = true}, "factor at each milestone"),
                type, {"step"}),
        only_if(real(
                    "schedule.power", [](auto& c) -> auto& { return c.schedule.power; },
                    {.min = 0, .max = 100, .above_min = true}, "exponent of the polynomial"),
                type, {"poly"}),
        only_if(also_called(real(
                                "schedule.min_lr", [](auto& c) -> auto& { return c.schedule.min_lr; },
                                {0, kLargest}, "the rate never falls below"),
                            {"eta_min", "final_lr", "end_lr"}),
                type, {"step", "cosine", "poly", "linear", "inverse_sqrt"}),
    };
}

std::vector<Key> checkpoint_keys() {
    return {
        also_called(
            duration(
                "checkpoint.every", [](auto& c) -> auto& { return c.checkpoint.every; },
                {.zero_word = "never"}, "how often to save; the end of a run and a stop by signal always do"),
            {"save_every", "interval"}),
        whole(
            "checkpoint.keep", [](auto& c) -> auto& { return c.checkpoint.keep; },
            {.min = 1, .max = kMany, .unset_word = "all"}, "newest checkpoints kept, the best not counted"),
        with_default(choice<BestMetric>(
                         "checkpoint.best", [](auto& c) -> auto& { return c.checkpoint.best; },
                         "test metric by which the best checkpoint is kept"),
                     "top1 for resnet, loss for gpt, bleu for transformer"),
        optional_path_key(
            "checkpoint.init_from", [](auto& c) -> auto& { return c.checkpoint.init_from; },
            "weights to start from: a safetensors file, a checkpoint, or a run (its best checkpoint, else "
            "its newest)"),
        on_off(
            "checkpoint.init_partial", [](auto& c) -> auto& { return c.checkpoint.init_partial; },
            "load from init_from what fits and list the rest, instead of refusing"),
    };
}

std::vector<Key> other_keys() {
    return {
        choice<Recompute>(
            "memory.recompute", [](auto& c) -> auto& { return c.memory.recompute; },
            "blocks: keep only what blocks hand on and compute the inside again going back"),
        memory_limit_key(),
        on_off(
            "memory.huge_pages", [](auto& c) -> auto& { return c.memory.huge_pages; },
            "ask the system for huge pages for the arena on a CPU"),
        choice<ConsoleStyle>(
            "log.console", [](auto& c) -> auto& { return c.log.console; },
            "auto: a bar on a terminal, plain lines otherwise"),
        on_off(
            "log.tensorboard", [](auto& c) -> auto& { return c.log.tensorboard; },
            "write TensorBoard's event files into the run's directory, too"),
        whole(
            "debug.histograms_every", [](auto& c) -> auto& { return c.debug.histograms_every; }, {0, kMany},
            "updates between looks at exponents of activations and gradients, with advice on the loss scale"),
        whole(
            "debug.profile", [](auto& c) -> auto& { return c.debug.profile; }, {0, kMany},
            "updates, after the warm-up, in which each op is timed; as --profile"),
        on_off(
            "debug.dump_graph", [](auto& c) -> auto& { return c.debug.dump_graph; },
            "write the graph after each pass that changed it"),
        list_key<std::string>(
            "debug.skip_passes", "a list of names of passes",
            [](auto& c) -> auto& { return c.debug.skip_passes; },
            [](const YamlItem& item, std::string& value) -> std::string {
                if (item.kind != YamlItem::Kind::kScalar || item.text.empty()) return "is not a name";
                value = item.text;
                return "";
            },
            [](const std::string& value) { return print_text(value); }, "passes to leave out"),
        on_off(
            "debug.reference_kernels", [](auto& c) -> auto& { return c.debug.reference_kernels; },
            "run every op by its plain reference kernel, slowly"),
    };
}

std::vector<Key> build_table() {
    std::vector<Key> table;
    for (const auto& section : {run_keys, model_keys, precision_keys, loss_scale_keys, data_keys,
                                picture_keys, text_data_keys, augment_keys, picture_augment_keys, train_keys,
                                optimizer_keys, schedule_keys, checkpoint_keys, translation_keys, other_keys})
        for (Key& key : section()) table.push_back(std::move(key));
    return table;
}

}  // namespace

const std::vector<Key>& all_keys() {
    static const std::vector<Key> table = build_table();
    return table;
}

}  // namespace mpt
