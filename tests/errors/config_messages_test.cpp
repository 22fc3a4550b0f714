// Configs that are wrong: the exact lines, exit code 2. Behaviours H24 to H28.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/config_text.h"

using namespace mpt;

namespace {

std::string file_fault(const std::string& path) {
    try {
        read_config(path);
    } catch (const Error& error) {
        return error.code() == ExitCode::kUsage ? error.what() : "another exit code than 2";
    }
    return "no fault";
}

// What "optimizer.lr" and others answer to one value, by file and by --set; the two must agree.
std::string value_fault(const std::string& path, const std::string& value) {
    const std::string key = path.substr(path.rfind('.') + 1);
    const std::string section = path.substr(0, path.rfind('.'));
    std::string file;
    std::size_t depth = 0;
    for (std::size_t at = 0, dot = 0; dot != std::string::npos; at = dot + 1) {
        dot = section.find('.', at);
        file += std::string(2 * depth++, ' ') + section.substr(at, dot - at) + ":\n";
    }
    file += std::string(2 * depth, ' ') + key + ": " + value + "\n";
    const std::string place = "run.yaml:" + std::to_string(depth + 1) + ":" +
                              std::to_string(2 * depth + key.size() + 3) + ": " + path + ": ";
    const std::string option = "--set " + path + "=" + value + ": " + path + ": ";
    const std::string by_file = fault_of(file);
    const std::string by_option = fault_of("seed: 1", {path + "=" + value});
    INFO(by_file << "\n" << by_option);
    CHECK(by_file.starts_with(place));
    CHECK(by_option.starts_with(option));
    if (!by_file.starts_with(place) || !by_option.starts_with(option)) return "";
    CHECK(by_file.substr(place.size()) == by_option.substr(option.size()));
    return by_file.substr(place.size());
}

}  // namespace

TEST_CASE("H24: unknown keys and bad choices, all faults in one go") {
    const char* text =
        "lerning_rate: 0.01\n"
        "learning_rate: 0.1\n"
        "train:\n"
        "  num-epochs: 5\n"
        "optimizer:\n"
        "  type: sgdd\n"
        "  lerning_rate: 0.01\n"
        "zebra: 1\n"
        "precision:\n"
        "  mode: half\n";
    CHECK(faults_of(text) ==
          std::vector<std::string>{
              "run.yaml:1:1: lerning_rate: unknown key; did you mean optimizer.lr?",
              "run.yaml:2:1: learning_rate: unknown key here; it belongs in section optimizer (optimizer.lr)",
              "run.yaml:4:3: train.num-epochs: unknown key; did you mean train.epochs?",
              "run.yaml:6:9: optimizer.type: 'sgdd' is not known (did you mean sgd?); it takes one of sgd, "
              "adam, "
              "adamw, lars, lamb",
              "run.yaml:7:3: optimizer.lerning_rate: unknown key; did you mean optimizer.lr?",
              "run.yaml:8:1: zebra: unknown key; the top level has name, seed, device, output_dir, threads, "
              "deterministic, autotune, model, "
              "precision, data, train, optimizer, schedule, checkpoint, translation, memory, log, debug",
              "run.yaml:10:9: precision.mode: 'half' is not known; it takes one of fp32, tf32, amp_fp16, "
              "amp_bf16, "
              "fp16_pure, fp8"});
}

TEST_CASE("H24: faults of --set follow those of the file") {
    CHECK(faults_of("seed: x", {"lr=1", "train.bach_size=3", "nothing", "no.such.thing=1", "=3"}) ==
          std::vector<std::string>{
              "run.yaml:1:7: seed: 'x' is not a whole number; it takes a whole number from 0 to "
              "9223372036854775807",
              "--set lr=1: lr: unknown key here; it belongs in section optimizer (optimizer.lr)",
              "--set train.bach_size=3: train.bach_size: unknown key; did you mean train.batch_size?",
              "--set nothing: is not key=value; write it like train.batch_size=64",
              "--set no.such.thing=1: no.such.thing: unknown key; the top level has name, seed, device, "
              "output_dir, "
              "threads, deterministic, autotune, model, precision, data, train, optimizer, schedule, "
              "checkpoint, translation, memory, "
              "log, debug",
              "--set =3: unknown key; the top level has name, seed, device, output_dir, threads, "
              "deterministic, autotune, model, "
              "precision, "
              "data, train, optimizer, schedule, checkpoint, translation, memory, log, debug"});
}

TEST_CASE("H24: a misspelt section is named and its contents are checked, too") {
    CHECK(faults_of("optimiser:\n  lr: x\n  momentum: 0.9\n") ==
          std::vector<std::string>{
              "run.yaml:1:1: optimiser: unknown key; did you mean the section optimizer?",
              "run.yaml:2:7: optimizer.lr: 'x' is not a number; it takes a number from 0 to 1e38"});
}

TEST_CASE("H25: learning rates in every spelling") {
    for (const std::string text : {"1e-4", "1E-4", "1.e-4", ".0001", "+1e-4", "'1e-4'", "\"1e-4\""}) {
        INFO(text);
        const ReadConfig read = read_text("optimizer: {lr: " + text + "}");
        CHECK(read.config.optimizer.lr == 1e-4);
        CHECK(read.resolved.find("\n  lr: 0.0001\n") != std::string::npos);
        CHECK(read_text("seed: 1", {"optimizer.lr=" + text}).config.optimizer.lr == 1e-4);
    }
    const std::string takes = "; it takes a number from 0 to 1e38";
    CHECK(value_fault("optimizer.lr", "1e-4x") == "'1e-4x' is not a number" + takes);
    CHECK(value_fault("optimizer.lr", "1,5") == "'1,5' has a decimal comma, write a point" + takes);
    CHECK(value_fault("optimizer.lr", "0x10") == "'0x10' is hexadecimal, write it in decimal" + takes);
}

TEST_CASE("H26: tabs, empty files, lists, folders and missing files") {
    CHECK(fault_of("train:\n  epochs: 2\n\tlog_every: 3\n") ==
          "run.yaml:3:1: tabs are not allowed for indentation; use spaces");
    CHECK(fault_of("train:\n  \tepochs: 2\n  steps: 1") ==
          "run.yaml:2:3: tabs are not allowed for indentation; use spaces");
    CHECK(fault_of("seed: 2\n\t\n") == "run.yaml:2:1: tabs are not allowed for indentation; use spaces");
    for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~", "\xef\xbb\xbf"})
        CHECK(fault_of(text) == "run.yaml:1:1: the file is empty; see the files in configs for a start");
    CHECK(
        fault_of("# a list\n- 1\n") ==
        "run.yaml:2:1: the top level is a list; it must be keys with values, like seed: 1 (mind the space)");
    CHECK(fault_of("seed:1") ==
          "run.yaml:1:1: the top level is a single value; it must be keys with values, like seed: 1 (mind "
          "the space)");
    TemporaryFolder folder;
    CHECK(file_fault(folder.path().string()) ==
          folder.path().string() + ": is a folder; --config takes a YAML file");
    const std::string missing = (folder.path() / "no.yaml").string();
    CHECK(file_fault(missing) ==
          missing +
              ": cannot be read: No such file or directory; --config takes a YAML file or a "
              "name in ./configs");
    CHECK(file_fault("/dev/null") ==
          "/dev/null:1:1: the file is empty; see the files in configs for a start");
}

TEST_CASE("H26: files that are no text, too large or not ours to read") {
    using namespace std::string_literals;
    CHECK(fault_of("seed: 1\nname: a\0b"s) ==
          "run.yaml:2:8: not a text file (there is a control character here)");
    CHECK(fault_of("\x7f"
                   "ELF\x02\x01") == "run.yaml:1:1: not a text file (there is a control character here)");
    CHECK(fault_of("name: Stra\xdf"
                   "e\n") == "run.yaml:1:11: the text is not valid UTF-8; save the file as UTF-8");
    CHECK(fault_of("\xff\xfes\0e\0e\0d\0"s) == "run.yaml:1:1: the file is UTF-16; save it as UTF-8");
    TemporaryFolder folder;
    const std::string large = folder.write("large.yaml", std::string(2u << 20, '#'));
    CHECK(file_fault(large) == large + ": is larger than 1 MiB; that is no config");
    const std::string locked = folder.write("locked.yaml", "seed: 1");
    REQUIRE(::chmod(locked.c_str(), 0) == 0);
    if (::geteuid() != 0)
        CHECK(file_fault(locked).starts_with(locked + ": cannot be read: Permission denied"));
    else
        CHECK(file_fault(locked) == "no fault");  // root reads everything
}

TEST_CASE("H26: broken YAML is one line with its place") {
    CHECK(fault_of("train: {epochs: 3") ==
          "run.yaml:1:1: not valid YAML (end of map flow not found); check indentation, colons and quotes "
          "here");
    CHECK(fault_of("seed: 3\n name: x\n") ==
          "run.yaml:2:6: not valid YAML (illegal map value); check indentation, colons and quotes here");
    CHECK(fault_of("seed: *none") ==
          "run.yaml:1:7: not valid YAML (the referenced anchor is not defined); check indentation, colons "
          "and quotes "
          "here");
    CHECK(fault_of("name: 'x\nseed: 3\n") ==
          "run.yaml:1:7: the quote that begins here is not closed; close it");
    CHECK(fault_of("train: &a {epochs: *a}") == "run.yaml:1:20: an alias refers to itself");
    CHECK(fault_of("seed: 1\n---\nseed: 2\n") ==
          "run.yaml:3:1: a second document begins here; a config is one document");
    CHECK(fault_of("? [a]\n: 1\n") == "run.yaml:1:3: a key must be one word, or a bracket is not closed");
    CHECK(fault_of("seed: !!int 3") ==
          "run.yaml:1:7: tags ('tag:yaml.org,2002:int') are not supported; remove it");
    CHECK(fault_of("train:\n  <<: {epochs: 1}\n") ==
          "run.yaml:2:3: train.<<: merge keys are not supported; write the keys out");
    std::string nested, laughs = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
    for (int i = 0; i < 900; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    CHECK(fault_of(nested).ends_with(": nested too deeply; no key needs that"));
    for (int i = 1; i < 12; ++i) {
        const std::string alias = "*a" + std::to_string(i - 1);
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
        for (int j = 1; j < 10; ++j) laughs += "," + alias;
        laughs += "]\n";
    }
    CHECK(fault_of(laughs) == "run.yaml:4:38: aliases expand to more than 10000 values; write fewer");
    CHECK(fault_of("seed: 1", {"train=[1"}) ==
          "--set train=[1: a key must be one word, or a bracket is not closed");
}

TEST_CASE("H27: whole numbers out of range name key, value and range") {
    const std::string batch = "; it takes a whole number from 1 to 1048576";
    for (const char* value : {"0", "-1", "4294967297", "99999999999999999999"})
        CHECK(value_fault("train.batch_size", value) == std::string(value) + " is out of range" + batch);
    CHECK(value_fault("train.batch_size", "2.5") == "2.5 is not a whole number" + batch);
    CHECK(value_fault("train.batch_size", "010") ==
          "010 has a leading zero (octal to some), write it without" + batch);
    CHECK(value_fault("train.batch_size", "0x10") == "'0x10' is hexadecimal, write it in decimal" + batch);
    CHECK(value_fault("train.accumulate", "0") == "0 is out of range" + batch);
    CHECK(value_fault("train.epochs", "-1") ==
          "-1 is out of range; it takes a whole number from 1 to 1000000");
    CHECK(value_fault("train.steps", "0") ==
          "0 is out of range; it takes a whole number from 1 to 1000000000000");
    CHECK(value_fault("precision.loss_scale.growth_interval", "0") ==
          "0 is out of range; it takes a whole number from 1 to 1000000000, or auto");
    CHECK(value_fault("checkpoint.keep", "0") ==
          "0 is out of range; it takes a whole number from 1 to 1000000000, or all");
    CHECK(fault_of("model: {depth: 19}") ==
          "run.yaml:1:9: model.depth: 19 is not a depth of a ResNet here; it is one of 18, 34, 50, 101, 152 "
          "(ImageNet stem), 20, 32, 44, 56, 110 (CIFAR type)");
}

TEST_CASE("H27: real numbers out of range or not finite") {
    const std::string rate = "; it takes a number from 0 to 1e38";
    CHECK(value_fault("optimizer.lr", "-1") == "-1 is out of range" + rate);
    CHECK(value_fault("optimizer.lr", "1e39") == "1e39 is out of range" + rate);
    CHECK(value_fault("optimizer.lr", "1e999") == "1e999 is beyond what 64-bit floats hold" + rate);
    for (const char* value : {".nan", ".inf", "-.inf", "nan"})
        CHECK(value_fault("optimizer.lr", value) == "'" + std::string(value) + "' is not finite" + rate);
    const std::string below_one = "; it takes a number from 0 to below 1";
    CHECK(value_fault("train.label_smoothing", "-0.1") == "-0.1 is out of range" + below_one);
    CHECK(value_fault("train.label_smoothing", "1.5") == "1.5 is out of range" + below_one);
    CHECK(value_fault("optimizer.momentum", "1") == "1 is out of range" + below_one);
    for (const char* value : {"0", "1e-50", "-8"})
        CHECK(value_fault("precision.loss_scale.init", value) ==
              std::string(value) + " is out of range; it takes a number from 1e-30 to 1e38, or auto");
    CHECK(value_fault("precision.loss_scale.backoff", "1") ==
          "1 is out of range; it takes a number above 0 and below 1, or auto");
    CHECK(value_fault("precision.loss_scale.growth_factor", "1") ==
          "1 is out of range; it takes a number above 1, up to 65536, or auto");
}

TEST_CASE("H27: a warm-up longer than the run is a warning") {
    const ReadConfig read =
        read_text("train: {epochs: 3}\noptimizer: {lr: 0.1}\nschedule:\n  warmup: 5 epochs\n");
    CHECK(read.warnings == std::vector<std::string>{
                               "run.yaml:4:3: schedule.warmup: 5 epochs of warm-up in a run of 3 epochs; the "
                               "learning rate never reaches 0.1"});
    CHECK(warnings_for(read.config, 10).empty());  // said already
    const ReadConfig mixed = read_text("train: {epochs: 3}\nschedule: {warmup: 31}\n");
    CHECK(mixed.warnings.empty());  // only the data tells
    CHECK(warnings_for(mixed.config, 10) ==
          std::vector<std::string>{
              "schedule.warmup: 31 updates of warm-up in a run of 30 updates; the learning rate "
              "never reaches 0.1"});
    CHECK(warnings_for(mixed.config, 11).empty());
    const ReadConfig steps = read_text("train: {steps: 20}\nschedule: {warmup: 2.5 epochs}\n");
    CHECK(warnings_for(steps.config, 8).empty());
    CHECK(warnings_for(steps.config, 9).size() == 1);
}

TEST_CASE("values of the wrong kind say what was found") {
    CHECK(
        faults_of("seed: [1]\n"
                  "name:\n"
                  "train: 5\n"
                  "model: {depth: {a: 1}}\n"
                  "optimizer: {nesterov: yes, exclude_from_decay: norm}\n"
                  "device: gpu\n"
                  "precision: {overrides: {match: a}}\n"
                  "memory: {limit: 4XB}\n") ==
        std::vector<std::string>{
            "run.yaml:1:7: seed: is a list; it takes a whole number from 0 to 9223372036854775807",
            "run.yaml:2:1: name: has no value; it takes a name without / and not beginning with . or -",
            "run.yaml:3:8: train: is a section, not a value; it holds epochs, steps, batch_size, "
            "batch_tokens, accumulate, "
            "eval_batch_size, label_smoothing, eval_every, log_every, early_stop, warmup_steps, "
            "max_nonfinite",
            "run.yaml:4:16: model.depth: is a section; it takes a whole number from 1 to 1000",
            "run.yaml:5:23: optimizer.nesterov: 'yes' is neither true nor false; it takes true or false",
            "run.yaml:5:48: optimizer.exclude_from_decay: is not a list; it takes a list of norm, bias",
            "run.yaml:6:9: device: 'gpu' is no device; it takes auto, cpu, cuda or cuda:N",
            "run.yaml:7:24: precision.overrides: is not a list; it takes a list of {match: NAME, dtype: f32, "
            "f16 or "
            "bf16}",
            "run.yaml:8:17: memory.limit: '4XB' is no amount of memory; it takes bytes, with KiB, MiB, GiB "
            "or KB, MB, "
            "GB (at least 1 MiB), or auto"});
}

TEST_CASE("small maps and lists are as strict as sections") {
    CHECK(fault_of("data: {augment: {normalize: {mean: [0.5, 0.5], std: [0.1]}}}") ==
          "run.yaml:1:29: data.augment.normalize: mean has 2 numbers and std 1; it takes auto, none or "
          "{mean: [...], "
          "std: [...]}");
    CHECK(fault_of("data: {augment: {normalize: {mean: 0, std: 0}}}") ==
          "run.yaml:1:44: data.augment.normalize.std: 0 is out of range; it takes a number above 0, up to "
          "1000000, or "
          "a list of one a channel");
    CHECK(faults_of("data: {augment: {normalize: {mean: 0, sdt: 1}}}").front() ==
          "run.yaml:1:29: data.augment.normalize: std is missing; it takes auto, none or {mean: [...], std: "
          "[...]}");
    CHECK(faults_of("data: {augment: {normalize: {mean: 0, sdt: 1}}}").back() ==
          "run.yaml:1:39: data.augment.normalize.sdt: unknown key; did you mean std?");
    CHECK(fault_of("precision:\n  overrides:\n    - {match: a, dtype: fp16}\n") ==
          "run.yaml:3:25: precision.overrides.dtype: 'fp16' is not known (did you mean f16?); it takes one "
          "of f32, "
          "f16, bf16");
    CHECK(fault_of("precision: {overrides: [{match: a, match: b, dtype: f16}]}") ==
          "run.yaml:1:36: precision.overrides.match: given twice, first on line 1; remove one");
    CHECK(fault_of("schedule: {type: step, milestones: [5, soon]}") ==
          "run.yaml:1:40: schedule.milestones: element 2: 'soon' is not a whole number; it takes a list of "
          "updates "
          "([500, 800]) or epochs ([30 epochs, 60 epochs])");
}

TEST_CASE("a repeated key names both lines") {
    CHECK(fault_of("train:\n  batch_size: 8\n  epochs: 1\n  batch_size: 9\n") ==
          "run.yaml:4:3: train.batch_size: given twice, first on line 2; remove one");
    CHECK(fault_of("seed: 1\ntrain: {epochs: 1}\ntrain: {log_every: 1}\n") ==
          "run.yaml:3:1: train: given twice, first on line 2; remove one");
}

TEST_CASE("rules between keys") {
    CHECK(fault_of("train: {epochs: 1, steps: 5}") ==
          "run.yaml:1:20: train.steps: train.epochs is given, too; keep one of the two");
    CHECK(fault_of("seed: 1", {"train.epochs=1", "train.steps=5"}) ==
          "--set train.steps=5: train.steps: train.epochs is given, too; keep one of the two");
    CHECK(fault_of("train: {batch_size: 100, accumulate: 8}") ==
          "run.yaml:1:26: train.accumulate: 8 does not divide train.batch_size 100; the nearest that do are "
          "5 and 10");
    CHECK(fault_of("train: {batch_size: 4, accumulate: 8}") ==
          "run.yaml:1:24: train.accumulate: 8 is more than train.batch_size 4; a micro-step needs at least "
          "one sample");
    CHECK(fault_of("train: {batch_size: 0, accumulate: 3}")
              .starts_with("run.yaml:1:21: train.batch_size: 0 is out"));
    CHECK(fault_of("precision: {mode: fp8}") ==
          "run.yaml:1:13: precision.mode: fp8 covers the matrix products of Transformers only and model.type "
          "resnet has "
          "none; use amp_bf16 or amp_fp16");
    CHECK(fault_of("model: {type: gpt}\nprecision: {mode: fp8, fp8: {history: 0}}") ==
          "run.yaml:2:39: precision.fp8.history: 0 is out of range; it takes a whole number from 1 to 1024");
    CHECK(fault_of("model: {type: gpt}\nprecision: {mode: fp8, fp8: {margin: 9}}") ==
          "run.yaml:2:38: precision.fp8.margin: 9 is out of range; it takes a whole number from 0 to 8");
    CHECK(fault_of("precision: {loss_scale: {preset: static}}") ==
          "run.yaml:1:26: precision.loss_scale.init: missing; preset static needs it, e.g. init: 128");
    CHECK(fault_of("precision: {loss_scale: {init: 8, floor: 16}}") ==
          "run.yaml:1:35: precision.loss_scale.floor: 16 is above init 8; lower it, or raise init");
    CHECK(fault_of("precision: {loss_scale: {init: 8, ceiling: 4}}") ==
          "run.yaml:1:35: precision.loss_scale.ceiling: 4 is below init 8; raise it, or lower init");
    CHECK(
        fault_of("data: {type: idx}") ==
        "run.yaml:1:8: data.path: missing; data.type idx needs the folder of its files (or data.if_missing: "
        "synthetic)");
    CHECK(fault_of("data: {type: imagefolder, if_missing: synthetic}").empty());
    CHECK(fault_of("data: {image_size: 8, augment: {crop_padding: 8}}") ==
          "run.yaml:1:33: data.augment.crop_padding: 8 is not below data.image_size 8; lower it");
    CHECK(fault_of("optimizer: {nesterov: true, momentum: 0}") ==
          "run.yaml:1:13: optimizer.nesterov: needs optimizer.momentum above 0; raise it, or write nesterov: "
          "false");
    CHECK(fault_of("schedule: {type: step}") ==
          "run.yaml:1:12: schedule.milestones: missing; schedule.type step needs them, e.g. [30 epochs, 60 "
          "epochs]");
    CHECK(fault_of("schedule: {type: step, milestones: [60 epochs, 30 epochs]}") ==
          "run.yaml:1:24: schedule.milestones: 30 epochs does not come after 60 epochs; list them in rising "
          "order");
    CHECK(fault_of("schedule: {type: step, milestones: [60, 80 epochs]}") ==
          "run.yaml:1:24: schedule.milestones: 60 updates and 80 epochs are of two units; use one");
    std::string many = "1";
    for (int i = 2; i <= 33; ++i) many += ", " + std::to_string(i);
    CHECK(fault_of("schedule: {type: step, milestones: [" + many + "]}") ==
          "run.yaml:1:24: schedule.milestones: 33 are too many; at most 32 are possible");
    CHECK(fault_of("schedule: {type: cosine, min_lr: 0.2}") ==
          "run.yaml:1:26: schedule.min_lr: 0.2 is above optimizer.lr 0.1; lower it");
    CHECK(
        fault_of("train: {early_stop: 2, eval_every: never}") ==
        "run.yaml:1:9: train.early_stop: needs evaluations, and train.eval_every is never; give an interval");
}

TEST_CASE("keys without effect are warnings") {
    CHECK(read_text("optimizer: {type: adam, nesterov: true}").warnings ==
          std::vector<std::string>{
              "run.yaml:1:25: optimizer.nesterov: has no effect with optimizer.type adam; it is for "
              "sgd"});
    CHECK(read_text("precision: {mode: fp32, loss_scale: {init: 8}}").warnings ==
          std::vector<std::string>{
              "run.yaml:1:38: precision.loss_scale.init: has no effect: with precision.mode fp32 "
              "and preset auto the loss scale is off"});
    CHECK(read_text("precision: {mode: fp32, loss_scale: {preset: pytorch, init: 8}}").warnings.empty());
    CHECK(read_text("precision: {mode: amp_bf16, fp8: {history: 8}}").warnings ==
          std::vector<std::string>{"run.yaml:1:35: precision.fp8.history: has no effect with precision.mode "
                                   "amp_bf16; it is for fp8"});
    CHECK(read_text("optimizer: {type: adam, momentum: 0.9}")
              .warnings.empty());  // the default: nothing is lost
}

TEST_CASE("every fault is one line, and many are cut short") {
    CHECK(fault_of("name: \"a\\nb/c\"") ==
          "run.yaml:1:7: name: 'a\\nb/c' cannot name a folder; it takes a name without / and not beginning "
          "with . or -");
    CHECK(fault_of("\"a\\nb\": 1").starts_with("run.yaml:1:1: a\\nb: unknown key; "));
    CHECK(fault_of("seed: " + std::string(500, 'x')) ==
          "run.yaml:1:7: seed: '" + std::string(80, 'x') +
              "...' is not a whole number; it takes a whole number from 0 to 9223372036854775807");
    std::string many;
    for (int i = 0; i < 300; ++i) many += "key" + std::to_string(i) + ": 1\n";
    const std::vector<std::string> faults = faults_of(many);
    REQUIRE(faults.size() == 51);
    CHECK(faults.back() == "run.yaml: and 250 more faults");
}

TEST_CASE("a vocabulary that is too small for the one to be learned is refused before learning") {
    const std::string pieces =
        "model: {type: gpt, vocabulary_size: 50}\ndata: {type: text, path: /t, tokenizer: ";
    CHECK(fault_of(pieces + "sentencepiece, sentencepiece_size: 60}") ==
          "run.yaml:1:20: model.vocabulary_size: 50 is less than the 60 tokens of data.sentencepiece_size; "
          "leave "
          "it out, raise it, or lower that");
    CHECK(fault_of(pieces + "sentencepiece, sentencepiece_size: 50}").empty());
    CHECK(fault_of(pieces + "sentencepiece, tokenizer_path: /m}").empty());
    CHECK(fault_of(pieces + "characters}").empty());
}
