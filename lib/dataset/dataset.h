// The data room in one include: a source of images, and the stream of batches drawn from it.
//
//   OpenedSource data = open_source({.type = SourceType::kIdx, .path = "/usr/share/datasets/fashion-mnist"});
//   BatchStream stream(*data.source, {.seed = 1, .batching = {.batch_size = 128}});
//   for (NextBatch next = stream.next(); next.batch; next = stream.next()) train_on(*next.batch);
#pragma once

#include "dataset/batch_stream.h"
#include "dataset/image_source.h"
