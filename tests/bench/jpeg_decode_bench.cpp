// Bare libjpeg-turbo: images/s of decoding whole files from memory, on some threads, at a scale of M/8.
//   jpeg_decode_bench THREADS SECONDS M FILE...
#include <cstdio>
// jpeglib.h needs FILE.
#include <jpeglib.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

void decode(jpeg_decompress_struct& info, const Bytes& file, unsigned eighths, Bytes& pixels) {
    jpeg_mem_src(&info, file.data(), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&info, TRUE);
    info.scale_num = eighths;
    info.scale_denom = 8;
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    const std::size_t stride = std::size_t{info.output_width} * 3;
    pixels.resize(stride * info.output_height);
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = pixels.data() + stride * info.output_scanline;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const int num_threads = std::atoi(argv[1]);
    const double seconds = std::atof(argv[2]);
    const auto eighths = static_cast<unsigned>(std::atoi(argv[3]));
    std::vector<Bytes> files;
    for (int i = 4; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> stop = false;
    const auto work = [&] {
        jpeg_decompress_struct info{};
        jpeg_error_mgr errors{};
        info.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&info);
        Bytes pixels;
        while (!stop) decode(info, files[next++ % files.size()], eighths, pixels);
        jpeg_destroy_decompress(&info);
    };
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < num_threads; ++i) threads.emplace_back(work);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%.1f\n", static_cast<double>(next.load()) / taken);
}
