// What the user may have meant. Reference: distances counted by hand.
#include <catch2/catch.hpp>

#include "config/suggest.h"
#include "config/unknown_key.h"

using namespace mpt;

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("lerning_rate", "learning_rate") == 1);
    CHECK(edit_distance("teh", "the") == 1);
    CHECK(edit_distance("Num-Epochs", "num_epochs") == 0);
}

TEST_CASE("the nearest word is at most a third away") {
    CHECK(nearest("sgdd", {"adam", "sgd"}) == "sgd");
    CHECK(nearest("cosin", {"constant", "cosine"}) == "cosine");
    CHECK(nearest("zebra", {"adam", "sgd"}) == std::nullopt);
    CHECK(nearest("", {"sgd"}) == std::nullopt);
    CHECK(nearest("x", {"y"}) == std::nullopt);  // nothing of the word is left
    CHECK(nearest(std::string(100000, 'a'), {"sgd"}) == std::nullopt);
}

TEST_CASE("an unknown key is explained by what is nearest") {
    const auto what = [](std::string_view section, std::string_view word) {
        return explain_unknown(section, word).what;
    };
    CHECK(what("optimizer", "learning_rate") == "unknown key; did you mean optimizer.lr?");
    CHECK(what("optimizer", "lerning_rate") == "unknown key; did you mean optimizer.lr?");
    CHECK(what("train", "num-epochs") == "unknown key; did you mean train.epochs?");
    CHECK(what("train", "Batch-Size") == "unknown key; did you mean train.batch_size?");
    CHECK(what("", "batch_size") == "unknown key here; it belongs in section train (train.batch_size)");
    CHECK(what("train", "seed") == "unknown key here; it belongs at the top level (seed)");
    CHECK(what("model", "every") == "unknown key here; it belongs in section checkpoint (checkpoint.every)");
    CHECK(what("memory", "type") ==
          "unknown key here; did you mean model.type or data.type or optimizer.type or schedule.type?");
    CHECK(what("data", "crop_paddng") == "unknown key; did you mean data.augment.crop_padding?");
    CHECK(what("memory", "xyzzy") == "unknown key; section memory has recompute, limit, huge_pages");
    CHECK(what("", "train.epochs") == "a dotted key is for --set; in a file nest it: epochs under train");
    CHECK(explain_unknown("", "optimiser").section == "optimizer");
    CHECK(explain_unknown("precision", "loss_scaling").section == "precision.loss_scale");
    CHECK(explain_unknown("", "lr").section.empty());
}
