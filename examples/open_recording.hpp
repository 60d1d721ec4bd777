#pragma once
// Opens a recorded space, plain or compressed by xz.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <lzma.h>

#include <tileseek/measure/replay.hpp>

/// The text of a .xz file.
/// @throws std::runtime_error  it cannot be read, or is damaged
inline std::string decompressed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
    throw std::runtime_error("liblzma: out of memory");
  std::string out;
  std::vector<char> in(1 << 16);
  std::vector<char> chunk(1 << 18);
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK) {
    if (stream.avail_in == 0 && file) {
      file.read(in.data(), static_cast<std::streamsize>(in.size()));
      stream.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
      stream.avail_in = static_cast<std::size_t>(file.gcount());
    }
    stream.next_out = reinterpret_cast<std::uint8_t*>(chunk.data());
    stream.avail_out = chunk.size();
    state = lzma_code(&stream, file ? LZMA_RUN : LZMA_FINISH);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (state != LZMA_STREAM_END) throw std::runtime_error(path + ": not a complete .xz file");
  return out;
}

/// @throws std::runtime_error  it cannot be opened, or see tileseek::replay
inline tileseek::replay open_recording(const std::string& path) {
  if (path.ends_with(".xz")) {
    std::istringstream text(decompressed(path));
    return tileseek::replay(text, path);
  }
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  return tileseek::replay(file, path);
}

/// "gemm_rtx_3090" for "spaces/hub_mit__gemm_rtx_3090.csv.xz": the part of the file name between a double underscore
/// and the extension.
inline std::string recording_name(std::string path) {
  if (const auto slash = path.find_last_of('/'); slash != std::string::npos) path.erase(0, slash + 1);
  for (const char* extension : {".xz", ".csv"})
    if (path.ends_with(extension)) path.erase(path.rfind(extension));
  if (const auto prefix = path.find("__"); prefix != std::string::npos && prefix + 2 < path.size())
    path.erase(0, prefix + 2);
  return path;
}
