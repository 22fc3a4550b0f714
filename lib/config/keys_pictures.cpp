// The keys of picture data: class folders and shards, and what training does to images.
#include "config/key_kinds.h"

namespace mpt {
namespace {

Key for_pictures(Key key) {
    key.switch_path = "data.type";
    key.switch_words = {"imagefolder", "shards"};
    return key;
}

Key also_called(Key key, std::vector<std::string> synonyms) {
    key.synonyms = std::move(synonyms);
    return key;
}

// A list of numbers of one range, and what else must hold of it ("": nothing).
template <class Member, class Check>
Key numbers_key(std::string path, std::string takes, Member member, RealRange range, Check check,
                std::string meaning) {
    Key key = list_key<double>(
        std::move(path), std::move(takes), member,
        [range](const YamlItem& item, double& value) {
            return item.kind == YamlItem::Kind::kScalar ? parse_in(range, item.text, value)
                                                        : std::string("is not a number");
        },
        [](double value) { return print_real(value); }, std::move(meaning));
    key.set = [member, check, set = key.set](const Key& self, const Setting& setting, RunConfig& config) {
        const std::vector<double> before = member(config);
        const std::size_t num_faults = setting.faults.size();
        set(self, setting, config);
        if (setting.faults.size() > num_faults) return;
        const std::string what = check(member(config));
        if (what.empty()) return;
        refuse(self, setting, setting.item.place, what);
        member(config) = before;
    };
    return key;
}

std::string check_pair(const std::vector<double>& values) {
    if (values.size() != 2) return "has " + std::to_string(values.size()) + " numbers, not 2";
    return values[0] <= values[1] ? "" : print_real(values[0]) + " is above " + print_real(values[1]);
}

std::string check_jitter(const std::vector<double>& values) {
    if (values.size() > 4) return "has " + std::to_string(values.size()) + " numbers, at most 4";
    return values.size() == 4 && values[3] > 0.5 ? "its hue " + print_real(values[3]) + " is above 0.5" : "";
}

constexpr RealRange kAlpha = {.min = 0.01, .max = 100, .zero_word = "off"};

Key random_resized_crop_key() {
    return also_called(on_off(
                           "data.augment.random_resized_crop",
                           [](auto& c) -> auto& { return c.data.augment.random_resized_crop; },
                           "train on a part drawn at random, resized to image_size"),
                       {"rrc", "random_crop"});
}

}  // namespace

std::vector<Key> picture_keys() {
    return {
        for_pictures(whole(
            "data.resize", [](auto& c) -> auto& { return c.data.resize; },
            {.min = 4, .max = 8192, .unset_word = "auto"},
            "short side before the middle is cut out; auto: image_size, with random_resized_crop 8/7 of it")),
        for_pictures(choice<OnBroken>(
            "data.broken", [](auto& c) -> auto& { return c.data.broken; },
            "a picture that cannot be decoded: end with exit 3, or decode all at the start and leave it "
            "out")),
        for_pictures(choice<OnEmptyClass>(
            "data.empty_classes", [](auto& c) -> auto& { return c.data.empty_classes; },
            "a class folder without pictures: end with exit 3, or keep its number")),
    };
}

std::vector<Key> picture_augment_keys() {
    return {
        random_resized_crop_key(),
        numbers_key(
            "data.augment.crop_scale", "two numbers, least and most, e.g. [0.08, 1]",
            [](auto& c) -> auto& { return c.data.augment.crop_scale; },
            {.min = 0, .max = 1, .above_min = true}, check_pair, "share of the area that is kept"),
        numbers_key(
            "data.augment.crop_ratio", "two numbers, least and most, e.g. [0.75, 1.3333]",
            [](auto& c) -> auto& { return c.data.augment.crop_ratio; }, {.min = 0.01, .max = 100}, check_pair,
            "width / height of the part"),
        numbers_key(
            "data.augment.color_jitter", "up to four numbers: brightness, contrast, saturation, hue",
            [](auto& c) -> auto& { return c.data.augment.color_jitter; }, {.min = 0, .max = 10}, check_jitter,
            "factors drawn from 1 - x to 1 + x, hue from -x to x turns; [] for none"),
        whole(
            "data.augment.rand_augment", [](auto& c) -> auto& { return c.data.augment.rand_augment; },
            {.min = 1, .max = 30, .zero_word = "off"}, "magnitude of RandAugment's ops; usual is 9"),
        whole(
            "data.augment.rand_augment_ops", [](auto& c) -> auto& { return c.data.augment.rand_augment_ops; },
            {1, 14}, "how many ops, one after the other"),
        also_called(
            real(
                "data.augment.random_erasing", [](auto& c) -> auto& { return c.data.augment.random_erasing; },
                {.min = 0, .max = 1, .zero_word = "off"},
                "probability that a rectangle becomes the mean colour"),
            {"erasing", "cutout"}),
        real(
            "data.augment.mixup", [](auto& c) -> auto& { return c.data.augment.mixup; }, kAlpha,
            "mix each image with the one before it, by a weight of Beta(x, x); usual is 0.2"),
        real(
            "data.augment.cutmix", [](auto& c) -> auto& { return c.data.augment.cutmix; }, kAlpha,
            "put a box of the image before into each, its area by Beta(x, x); usual is 1"),
    };
}

}  // namespace mpt
