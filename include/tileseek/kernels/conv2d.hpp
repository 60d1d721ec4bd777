#pragma once
/// \file
/// Single-precision two-dimensional convolutions on the CPU, whose blocking is chosen at run time.
///
/// A direct convolution: a register tile of output pixels x vectors of output channels sums over the rows and columns
/// of the kernel and over input channels with the micro-kernels of the matrix product, which read pixels a constant
/// distance apart and packed weights in the order of use. Blocks of output pixels and of input channels keep the input
/// in the caches, blocks of output channels the weights. A depthwise convolution (one channel a group) has vectors of
/// channels in the place of sums over them. A 1 x 1 convolution without stride and padding is one long row of pixels.
///
///   E. Georganas et al.: Anatomy of high-performance deep learning convolutions on SIMD architectures. SC 2018.
///   J. Zhang, F. Franchetti, T. M. Low: High performance zero-memory overhead direct convolutions. ICML 2018.
///
/// Computed in the layout NHWC. Tensors in NCHW are transposed on the way in and out, within the timed call.
/// Vectors, micro-kernels and how to compile them: see detail/micro_kernel.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/detail/micro_kernel.hpp>
#include <tileseek/kernels/detail/rounding_bound.hpp>
#include <tileseek/kernels/detail/team.hpp>

namespace tileseek::kernels {

/// The order of a tensor's dimensions in memory, outermost first.
enum class conv2d_layout { nhwc, nchw };

/// What is convolved with what. The input has `channels_in` channels of height x width, the output `channels_out`.
/// Weights lie in the order {channels_out, channels_in / groups, kernel_h, kernel_w} for both layouts.
struct conv2d_shape {
  int batch = 1;
  int height = 1;        ///< of the input
  int width = 1;         ///< of the input
  int channels_in = 1;   ///< a multiple of groups
  int channels_out = 1;  ///< a multiple of groups
  int kernel_h = 1;
  int kernel_w = 1;
  int stride_h = 1;
  int stride_w = 1;
  int padding_h = 0;  ///< rows of zeros above, and as many below
  int padding_w = 0;  ///< columns of zeros on the left, and as many on the right
  int dilation_h = 1;
  int dilation_w = 1;
  int groups = 1;  ///< output channels of a group see its input channels only
  conv2d_layout layout = conv2d_layout::nhwc;

  [[nodiscard]] constexpr int out_height() const {
    return (height + 2 * padding_h - dilation_h * (kernel_h - 1) - 1) / stride_h + 1;
  }
  [[nodiscard]] constexpr int out_width() const {
    return (width + 2 * padding_w - dilation_w * (kernel_w - 1) - 1) / stride_w + 1;
  }
  [[nodiscard]] constexpr bool depthwise() const {
    return groups > 1 && channels_in == groups && channels_out == groups;
  }

  /// Numbers in each tensor.
  [[nodiscard]] constexpr std::size_t input_size() const { return product(batch, height, width, channels_in); }
  [[nodiscard]] constexpr std::size_t weights_size() const {
    return product(channels_out, channels_in / groups, kernel_h, kernel_w);
  }
  [[nodiscard]] constexpr std::size_t output_size() const {
    return product(batch, out_height(), out_width(), channels_out);
  }

  /// Floating-point operations, a multiplication and an addition counting as two; those with zeros of the padding count.
  [[nodiscard]] constexpr double flop() const {
    return 2.0 * static_cast<double>(output_size()) * (channels_in / groups) * kernel_h * kernel_w;
  }

 private:
  [[nodiscard]] static constexpr std::size_t product(int a, int b, int c, int d) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
           static_cast<std::size_t>(d);
  }
};

/// Which blocks are the outer loops, and which tiles within a block.
enum class conv2d_order {
  channels_outside,  ///< output channels: a panel of weights is used for all pixels of a block before the next one
  pixels_outside,    ///< output pixels: the pixels of a tile are used for all panels of a block before the next ones
};

/// The configuration. The arrays are tiles of `conv2d_extents`, outermost factor first. The loops are clipped to the
/// true size, so any block is correct for any shape. The outermost factor only completes the product: the kernel takes
/// as many blocks as the size needs. The default is what one writes without tuning: blocks of 4 x 64 pixels, 64 output
/// and 64 input channels.
struct conv2d_blocking {
  std::array<int, 2> y{1, 4};      ///< {blocks, output rows per block}
  std::array<int, 3> x{1, 16, 4};  ///< {blocks, tiles per block, pixels of the micro-kernel} of an output row. Tiles
                                   ///< of a block are made equal: 28 pixels in tiles of at most 12 are 10 + 9 + 9
  std::array<int, 3> oc{1, 64 / vector_lanes, 1};  ///< {blocks, panels per block, vectors of the micro-kernel}
  std::array<int, 2> ic{1, 64};                    ///< {blocks, input channels per block}; unused if depthwise
  conv2d_order order = conv2d_order::channels_outside;
  /// Copy the input of each block, so that it is contiguous. If false, only blocks that reach into the padding are
  /// copied, which saves time as long as pixels fall into different cache sets.
  bool copy = true;

  [[nodiscard]] friend bool operator==(const conv2d_blocking&, const conv2d_blocking&) = default;
};

/// Is there a micro-kernel of so many pixels and vectors of output channels? As in the matrix product, but with any
/// number of pixels.
[[nodiscard]] constexpr bool conv2d_kernel_exists(int pixels, int vectors) {
  return pixels >= 1 && pixels <= detail::max_rows && vectors >= 1 && vectors <= detail::max_vectors &&
         detail::fits_in_registers(pixels, vectors);
}
/// The same for depthwise convolutions. More pixels or vectors would gain nothing: each load feeds one multiply-add.
[[nodiscard]] constexpr bool depthwise_kernel_exists(int pixels, int vectors) {
  return pixels >= 1 && pixels <= detail::depthwise_pixels && vectors >= 1 && vectors <= detail::depthwise_vectors;
}

namespace detail {

/// A convolution as the loops see it: NHWC; `images`, `height` and `width` of a 1 x 1 convolution are 1 x 1 x pixels.
struct conv2d_geometry {
  index images, height, width, channels, out_height, out_width, out_channels, groups;
  index in, out;  ///< channels of a group
  index kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
  bool depthwise;

  explicit conv2d_geometry(const conv2d_shape& s)
      : images(s.batch),
        height(s.height),
        width(s.width),
        channels(s.channels_in),
        out_height(s.out_height()),
        out_width(s.out_width()),
        out_channels(s.channels_out),
        groups(s.depthwise() ? 1 : s.groups),
        in(s.depthwise() ? 1 : s.channels_in / s.groups),
        out(s.depthwise() ? s.channels_out : s.channels_out / s.groups),
        kernel_h(s.kernel_h),
        kernel_w(s.kernel_w),
        stride_h(s.stride_h),
        stride_w(s.stride_w),
        padding_h(s.padding_h),
        padding_w(s.padding_w),
        dilation_h(s.dilation_h),
        dilation_w(s.dilation_w),
        depthwise(s.depthwise()) {
    if (kernel_h != 1 || kernel_w != 1 || stride_h != 1 || stride_w != 1 || padding_h != 0 || padding_w != 0) return;
    out_width = width = images * height * width;
    out_height = height = images = 1;
  }

  [[nodiscard]] index vectors() const { return (out + vector_lanes - 1) / vector_lanes; }
  [[nodiscard]] index places() const { return kernel_h * kernel_w; }
};

/// Where the numbers of a shape's tensors lie, and which of them an output pixel sees.
struct conv2d_tensors {
  const conv2d_shape& s;
  explicit conv2d_tensors(const conv2d_shape& shape) : s(shape) {}

  [[nodiscard]] index input(index n, index c, index y, index x) const {
    return at(n, c, y, x, s.channels_in, s.height, s.width);
  }
  [[nodiscard]] index output(index n, index c, index y, index x) const {
    return at(n, c, y, x, s.channels_out, s.out_height(), s.out_width());
  }

  /// All rows of output pixels, numbered through the images.
  [[nodiscard]] range rows() const { return {0, static_cast<index>(s.batch) * s.out_height()}; }

  /// f(image, row, column) for all output pixels of these rows.
  template <class F>
  void each_pixel(range of, const F& f) const {
    const index height = s.out_height(), columns = s.out_width();
    for (index i = of.begin; i < of.end; ++i)
      for (index x = 0; x < columns; ++x) f(i / height, i % height, x);
  }

  /// f(place in the kernel, row, column) for the input pixels that output pixel (y, x) sees.
  template <class F>
  void each_place(index y, index x, const F& f) const {
    for (index i = 0; i < s.kernel_h; ++i)
      for (index j = 0; j < s.kernel_w; ++j) {
        const index row = y * s.stride_h - s.padding_h + i * s.dilation_h;
        const index column = x * s.stride_w - s.padding_w + j * s.dilation_w;
        if (row >= 0 && row < s.height && column >= 0 && column < s.width) f(i * s.kernel_w + j, row, column);
      }
  }

 private:
  [[nodiscard]] index at(index n, index c, index y, index x, index channels, index height, index width) const {
    return s.layout == conv2d_layout::nhwc ? ((n * height + y) * width + x) * channels + c
                                           : ((n * channels + c) * height + y) * width + x;
  }
};

/// @throws std::invalid_argument  the shape is none
inline void check(const conv2d_shape& s) {
  using tileseek::detail::fail;
  constexpr int most = 1 << 20;
  const auto within = [](const char* field, int value, int least) {
    if (value < least || value > most)
      fail<std::invalid_argument>({"conv2d: shape.", field, " is ", value, ", pass ", least, " to ", most});
  };
  within("batch", s.batch, 1);
  within("height", s.height, 1);
  within("width", s.width, 1);
  within("channels_in", s.channels_in, 1);
  within("channels_out", s.channels_out, 1);
  within("kernel_h", s.kernel_h, 1);
  within("kernel_w", s.kernel_w, 1);
  within("stride_h", s.stride_h, 1);
  within("stride_w", s.stride_w, 1);
  within("padding_h", s.padding_h, 0);
  within("padding_w", s.padding_w, 0);
  within("dilation_h", s.dilation_h, 1);
  within("dilation_w", s.dilation_w, 1);
  within("groups", s.groups, 1);
  const auto covers = [](const char* kernel, int size, int dilation, const char* of, int extent, int padding) {
    const auto span = static_cast<index>(dilation) * (size - 1) + 1;
    if (span > static_cast<index>(extent) + 2 * padding)
      fail<std::invalid_argument>({"conv2d: shape.", kernel, " is ", size, ", which spans ", span,
                                   " with its dilation, ", "more than the padded ", of,
                                   "; pass a smaller kernel or more padding"});
  };
  covers("kernel_h", s.kernel_h, s.dilation_h, "height", s.height, s.padding_h);
  covers("kernel_w", s.kernel_w, s.dilation_w, "width", s.width, s.padding_w);
  if (s.channels_in % s.groups != 0 || s.channels_out % s.groups != 0)
    fail<std::invalid_argument>({"conv2d: shape.groups is ", s.groups, ", which divides not both ", s.channels_in,
                                 " input and ", s.channels_out, " output channels"});
  if (s.layout != conv2d_layout::nhwc && s.layout != conv2d_layout::nchw)
    fail<std::invalid_argument>({"conv2d: shape.layout is ", static_cast<int>(s.layout), ", pass nhwc or nchw"});
}

}  // namespace detail

/// The extents that the tiles of `conv2d_blocking` factorise. Those of a 1 x 1 convolution without stride and padding
/// have all pixels in x.
struct conv2d_tile_extents {
  int y = 1;   ///< output rows
  int x = 1;   ///< output pixels of a row
  int oc = 1;  ///< vectors of `vector_lanes` output channels of a group
  int ic = 1;  ///< input channels of a group; 1 if depthwise
};
/// @throws std::invalid_argument  the shape is none
[[nodiscard]] inline conv2d_tile_extents conv2d_extents(const conv2d_shape& shape) {
  detail::check(shape);
  const detail::conv2d_geometry g(shape);
  const auto padded = [](detail::index size) { return padded_extent(static_cast<int>(size)); };
  return {padded(g.out_height), padded(g.out_width), padded(g.vectors()), static_cast<int>(g.in)};
}

/// The kernel for one shape. Owns the packed weights, room to copy input to, and its threads: one object per calling
/// thread.
///
///   conv2d convolve({.height = 56, .width = 56, .channels_in = 64, .channels_out = 64, .kernel_h = 3, ...});
///   convolve.prepare(blocking, weights);
///   convolve(input, output);
class conv2d {
 public:
  /// @param threads  that work on a convolution, the caller among them. They share out the images, the rows, the pixels
  ///                 of a row or the output channels, whichever are most
  /// Throws std::invalid_argument if the shape is none or the number of threads is below 1, std::system_error.
  explicit conv2d(const conv2d_shape& shape, int threads = 1) : shape_((detail::check(shape), shape)), g_(shape) {
    if (threads < 1)
      tileseek::detail::fail<std::invalid_argument>({"conv2d: threads is ", threads, ", pass at least 1"});
    team_ = std::make_unique<detail::team>(threads);
    own_.resize(static_cast<std::size_t>(threads));
  }

  [[nodiscard]] const conv2d_shape& shape() const { return shape_; }
  [[nodiscard]] int threads() const { return team_->size(); }

  /// Chooses the blocking of the calls to come, packs the weights for it, and makes room.
  /// Throws std::invalid_argument if the blocking is none (naming the field, its value and what is possible),
  /// std::bad_alloc.
  void prepare(const conv2d_blocking& blocking, const float* weights) {
    check(blocking);
    ready_ = false;
    by_ = blocking;
    pack(weights);
    const index rows = copied_rows(std::min<index>(by_.y[1], g_.out_height));
    const index columns = copied_columns(std::min(static_cast<index>(by_.x[1]) * by_.x[2], g_.out_width));
    const index channels = g_.depthwise ? block_channels() : std::min<index>(by_.ic[1], g_.in);
    for (auto& own : own_) {
      detail::grow(own.window, rows * columns * channels);
      own.at.resize(static_cast<std::size_t>(g_.places()));
    }
    if (shape_.layout == conv2d_layout::nchw) {
      detail::grow(input_, static_cast<index>(shape_.input_size()));
      detail::grow(output_, static_cast<index>(shape_.output_size()));
    }
    ready_ = true;
  }

  /// output = convolution of input, with the weights that were prepared. The tensors do not overlap; what the output
  /// held before does not matter. Throws std::logic_error if nothing was prepared.
  void operator()(const float* input, float* output) {
    if (!ready_) throw std::logic_error("conv2d: called before prepare(blocking, weights)");
    if (shape_.layout == conv2d_layout::nhwc) return team_->run([&](int thread) { part(thread, input, output); });
    const index pixels_in = static_cast<index>(shape_.height) * shape_.width;
    const index pixels_out = static_cast<index>(shape_.out_height()) * shape_.out_width();
    each_stretch(pixels_in, [&](index image, index at, index count) {
      const float* from = input + image * g_.channels * pixels_in + at;
      detail::transpose(input_.data() + (image * pixels_in + at) * g_.channels, g_.channels, from, pixels_in,
                        g_.channels, count);
    });
    team_->run([&](int thread) { part(thread, input_.data(), output_.data()); });
    each_stretch(pixels_out, [&](index image, index at, index count) {
      float* to = output + image * g_.out_channels * pixels_out + at;
      detail::transpose(to, pixels_out, output_.data() + (image * pixels_out + at) * g_.out_channels, g_.out_channels,
                        count, g_.out_channels);
    });
  }

 private:
  using index = detail::index;
  using range = detail::range;

  // What one thread needs.
  struct buffers {
    detail::floats window;
    std::vector<index> at;
  };

  // The input of a block of output pixels and input channels: in place or copied.
  struct window {
    const float* begin;
    index row;                    ///< floats between output rows
    index pixel;                  ///< and between output pixels
    index channel;                ///< the channel at `begin`
    detail::stretches stretches;  ///< the places of the kernel
  };

  // A kernel that is 1 high (wide) leaves rows (columns) out of the copy, if it strides.
  [[nodiscard]] index copied_stride_h() const { return g_.kernel_h == 1 ? 1 : g_.stride_h; }
  [[nodiscard]] index copied_stride_w() const { return g_.kernel_w == 1 ? 1 : g_.stride_w; }
  [[nodiscard]] index copied_rows(index out) const {
    return (out - 1) * copied_stride_h() + (g_.kernel_h - 1) * g_.dilation_h + 1;
  }
  [[nodiscard]] index copied_columns(index out) const {
    return (out - 1) * copied_stride_w() + (g_.kernel_w - 1) * g_.dilation_w + 1;
  }
  // Channels of the output, of one group, that a block computes at most: whole vectors.
  [[nodiscard]] index block_channels() const {
    return vector_lanes * std::min(static_cast<index>(by_.oc[1]) * by_.oc[2], g_.vectors());
  }

  /// Calls f(image, first pixel, pixels) for some pixels at a time: what is transposed across then lies in the L1 cache.
  template <class F>
  void each_stretch(index pixels, const F& f) {
    constexpr index some = 64;
    const index stretches = (pixels + some - 1) / some;
    team_->run([&](int thread) {
      const range mine = range{0, shape_.batch * stretches}.part(thread, threads());
      for (index i = mine.begin; i < mine.end; ++i) {
        const index at = i % stretches * some;
        f(i / stretches, at, std::min(some, pixels - at));
      }
    });
  }

  /// Weights in the order of use: {group, panel, block of input channels, kernel row, kernel column, input channel,
  /// output channel of the panel}. The last panel is as many vectors wide as it needs, filled up with zeros.
  void pack(const float* weights) {
    const index places = g_.places(), panel = by_.oc[2];
    detail::grow(weights_, g_.groups * g_.vectors() * vector_lanes * places * g_.in);
    float* to = weights_.data();
    for (index group = 0; group < g_.groups; ++group)
      for (index v = 0; v < g_.vectors(); v += panel) {
        const index begin = v * vector_lanes, wide = std::min(panel, g_.vectors() - v) * vector_lanes;
        for (index c = 0; c < g_.in; c += by_.ic[1]) {
          const index depth = std::min<index>(by_.ic[1], g_.in - c);
          for (index j = 0; j < wide; ++j) {
            const bool live = begin + j < g_.out;
            const float* from = weights + ((group * g_.out + begin + j) * g_.in + c) * places;
            for (index i = 0; i < depth; ++i)
              for (index p = 0; p < places; ++p) to[(p * depth + i) * wide + j] = live ? from[i * places + p] : 0.0f;
          }
          to += places * depth * wide;
        }
      }
  }

  /// The window of output rows y and columns x, for channels c of the image.
  [[nodiscard]] window open(buffers& own, const float* image, range y, range x, range c) const {
    const index top = y.begin * g_.stride_h - g_.padding_h, left = x.begin * g_.stride_w - g_.padding_w;
    const index bottom = (y.end - 1) * g_.stride_h - g_.padding_h + (g_.kernel_h - 1) * g_.dilation_h;
    const index right = (x.end - 1) * g_.stride_w - g_.padding_w + (g_.kernel_w - 1) * g_.dilation_w;
    const bool inside = top >= 0 && left >= 0 && bottom < g_.height && right < g_.width && c.end <= g_.channels;
    window w{};
    w.channel = c.begin;
    index row, column = c.size();  // floats between rows and columns of what the window looks at
    if (inside && !by_.copy) {
      row = g_.width * g_.channels;
      column = g_.channels;
      w.begin = image + (top * g_.width + left) * g_.channels + c.begin;
      w.row = g_.stride_h * row;
      w.pixel = g_.stride_w * column;
    } else {
      row = copied_columns(x.size()) * column;
      copy(own.window.data(), image, top, left, copied_rows(y.size()), copied_columns(x.size()), c);
      w.begin = own.window.data();
      w.row = copied_stride_h() * row;
      w.pixel = copied_stride_w() * column;
    }
    // The columns of a kernel's row follow each other if their channels do: then they are one stretch.
    const bool joined = !g_.depthwise && column == c.size() && g_.dilation_w == 1;
    const index columns = joined ? 1 : g_.kernel_w;
    for (index i = 0; i < g_.kernel_h; ++i)
      for (index j = 0; j < columns; ++j)
        own.at[static_cast<std::size_t>(i * columns + j)] = i * g_.dilation_h * row + j * g_.dilation_w * column;
    w.stretches = {own.at.data(), g_.kernel_h * columns, joined ? g_.kernel_w * c.size() : c.size(), w.begin, 0};
    return w;
  }

  /// Copies channels c of rows x columns of an image, zeros where there is none.
  void copy(float* to, const float* image, index top, index left, index rows, index columns, range c) const {
    const index step_h = g_.kernel_h == 1 ? g_.stride_h : 1, step_w = g_.kernel_w == 1 ? g_.stride_w : 1;
    const index depth = c.size(), live = std::min(c.end, g_.channels) - c.begin;
    const index before = std::min(columns, left < 0 ? (-left + step_w - 1) / step_w : 0);
    const index end = std::clamp((g_.width - left + step_w - 1) / step_w, before, columns);  // of columns in the image
    for (index i = 0; i < rows; ++i, to += columns * depth) {
      const index y = top + i * step_h;
      if (y < 0 || y >= g_.height) {
        std::fill_n(to, columns * depth, 0.0f);
        continue;
      }
      const float* from = image + (y * g_.width + left) * g_.channels + c.begin;
      std::fill_n(to, before * depth, 0.0f);
      if (depth == g_.channels && step_w == 1)
        std::copy(from + before * depth, from + end * depth, to + before * depth);
      else
        for (index j = before; j < end; ++j) {
          std::copy_n(from + j * step_w * g_.channels, live, to + j * depth);
          std::fill_n(to + j * depth + live, depth - live, 0.0f);
        }
      std::fill_n(to + end * depth, (columns - end) * depth, 0.0f);
    }
  }

  /// What a thread computes.
  void part(int thread, const float* input, float* output) {
    auto& own = own_[static_cast<std::size_t>(thread)];
    const index panels = (g_.vectors() + by_.oc[2] - 1) / by_.oc[2], tiles = (g_.out_width + by_.x[2] - 1) / by_.x[2];
    range images{0, g_.images}, y{0, g_.out_height}, x{0, g_.out_width}, oc{0, panels};
    const index most = std::max({g_.images, g_.out_height, tiles, panels});
    range& shared = most == g_.images ? images : most == g_.out_height ? y : most == tiles ? x : oc;
    shared = shared.part(thread, threads());
    oc = {oc.begin * by_.oc[2] * vector_lanes, std::min(oc.end * by_.oc[2] * vector_lanes, g_.out)};
    for (index i = images.begin; i < images.end; ++i)
      for (index group = 0; group < g_.groups; ++group)
        run{*this, own, input + i * g_.height * g_.width * g_.channels,
            output + i * g_.out_height * g_.out_width * g_.out_channels, group}
            .convolve(y, x, oc);
  }

  /// One image and group under way: what the loops do at each level. Ranges of output channels are in channels of the
  /// group, and begin at a panel.
  struct run {
    const conv2d& self;
    buffers& own;
    const float* image;
    float* output;
    index group;
    const detail::conv2d_geometry& g = self.g_;
    const conv2d_blocking& by = self.by_;

    template <class F>
    static void blocks(range all, index size, const F& f) {
      for (index i = all.begin; i < all.end; i += size) f(range{i, std::min(i + size, all.end)});
    }

    void convolve(range all_y, range all_x, range all_oc) const {
      const index height = by.y[1], width = static_cast<index>(by.x[1]) * by.x[2], channels = self.block_channels();
      const range all_ic{0, g.in};
      if (by.order == conv2d_order::channels_outside)
        blocks(all_oc, channels, [&](range oc) {
          blocks(all_ic, by.ic[1], [&](range ic) {
            blocks(all_y, height, [&](range y) {
              blocks(all_x, width, [&](range x) {
                const window w = look(y, x, oc, ic);
                blocks(oc, panel(), [&](range p) {
                  for (index i = y.begin; i < y.end; ++i) tiles(x, [&](range t) { tile(w, y, x, i, t, p, ic); });
                });
              });
            });
          });
        });
      else
        blocks(all_y, height, [&](range y) {
          blocks(all_x, width, [&](range x) {
            blocks(all_ic, by.ic[1], [&](range ic) {
              if (!g.depthwise) {
                const window w = look(y, x, all_oc, ic);
                blocks(all_oc, channels, [&](range oc) { pixels_outside(w, y, x, oc, ic); });
              } else {
                blocks(all_oc, channels, [&](range oc) { pixels_outside(look(y, x, oc, ic), y, x, oc, ic); });
              }
            });
          });
        });
    }

    void pixels_outside(const window& w, range y, range x, range oc, range ic) const {
      for (index i = y.begin; i < y.end; ++i)
        tiles(x, [&](range t) { blocks(oc, panel(), [&](range p) { tile(w, y, x, i, t, p, ic); }); });
    }

    [[nodiscard]] index panel() const { return static_cast<index>(by.oc[2]) * vector_lanes; }

    template <class F>
    void tiles(range x, const F& f) const {
      const index count = (x.size() + by.x[2] - 1) / by.x[2];
      for (index i = 0; i < count; ++i) f(x.part(i, count));
    }

    /// The window of a block: its channels are the block's input channels, or, if depthwise, its output channels.
    [[nodiscard]] window look(range y, range x, range oc, range ic) const {
      const index begin = group * g.in;
      if (!g.depthwise) return self.open(own, image, y, x, {begin + ic.begin, begin + ic.end});
      return self.open(own, image, y, x,
                       {oc.begin, oc.begin + (oc.size() + vector_lanes - 1) / vector_lanes * vector_lanes});
    }

    /// Pixels x of row y, and output channels oc.
    void tile(const window& w, range block_y, range block_x, index y, range x, range oc, range ic) const {
      const index vectors = (oc.size() + vector_lanes - 1) / vector_lanes, wide = vectors * vector_lanes;
      const index places = g.places();
      const float* a = w.begin + (y - block_y.begin) * w.row + (x.begin - block_x.begin) * w.pixel;
      detail::stretches sum = w.stretches;
      const float* b = self.weights_.data() + (group * g.vectors() * vector_lanes + oc.begin) * places * g.in +
                       ic.begin * places * wide;
      const auto pixels = static_cast<int>(x.size()), across = static_cast<int>(vectors);
      const auto kernel = g.depthwise ? detail::find_depthwise_kernel(pixels, across)
                                      : detail::find_micro_kernel(false, pixels, across, 2);
      if (g.depthwise) a += oc.begin - w.channel;
      if (g.padding_h > 0) {  // kernel rows that see padding only add nothing: a tenth of the work on 7 x 7 pixels
        const index top = y * g.stride_h - g.padding_h, step = g.dilation_h;
        const index first = top < 0 ? std::min((-top + step - 1) / step, g.kernel_h) : 0;
        const index last = std::clamp((g.height - top + step - 1) / step, first, g.kernel_h);
        const index columns = sum.count / g.kernel_h;
        sum.at += first * columns;
        sum.count = (last - first) * columns;
        b += first * g.kernel_w * (g.depthwise ? 1 : ic.size()) * wide;
      }
      sum.ahead = b;
      if (by.order == conv2d_order::channels_outside && oc.begin + wide < g.out) {
        // The next panel's weights come from L3 or memory: the first tiles of this one fetch a part each.
        const index tiles_done = ((y - block_y.begin) * block_x.size() + x.begin - block_x.begin) / by.x[2];
        const index turns = sum.count * sum.depth / 2, line = 64 / static_cast<index>(sizeof(float));
        const index fetched = tiles_done * turns * line, panel_size = places * g.in * wide;
        if (fetched < panel_size) {
          sum.ahead = b + panel_size + fetched;
          sum.ahead_step = line;
        }
      }
      detail::write_tile([&](float* to, index row, bool add) { kernel(sum, a, w.pixel, b, to, row, add); },
                         output + (y * g.out_width + x.begin) * g.out_channels + group * g.out + oc.begin,
                         g.out_channels, x.size(), oc.size(), ic.begin > 0);
    }
  };

  void check(const conv2d_blocking& by) const {
    using tileseek::detail::fail;
    const auto positive = [](const char* name, const auto& factors) {
      for (std::size_t level = 0; level < factors.size(); ++level)
        if (factors[level] < 1)
          fail<std::invalid_argument>(
              {"conv2d: blocking.", name, "[", level, "] is ", factors[level], ", pass at least 1"});
    };
    positive("y", by.y);
    positive("x", by.x);
    positive("oc", by.oc);
    positive("ic", by.ic);
    const auto exists = g_.depthwise ? depthwise_kernel_exists : conv2d_kernel_exists;
    const std::string_view rule = g_.depthwise ? "depthwise_kernel_exists" : "conv2d_kernel_exists";
    if (!exists(by.x[2], 1))
      fail<std::invalid_argument>(
          {"conv2d: blocking.x[2] is ", by.x[2], ", pass the pixels of a micro-kernel (see ", rule, ")"});
    if (!exists(by.x[2], by.oc[2]))
      fail<std::invalid_argument>({"conv2d: blocking.oc[2] is ", by.oc[2],
                                   ", pass fewer vectors: there is no micro-kernel with blocking.x[2] = ", by.x[2],
                                   " pixels that wide (see ", rule, ")"});
    if (by.order != conv2d_order::channels_outside && by.order != conv2d_order::pixels_outside)
      fail<std::invalid_argument>(
          {"conv2d: blocking.order is ", static_cast<int>(by.order), ", pass channels_outside or pixels_outside"});
  }

  conv2d_shape shape_;
  detail::conv2d_geometry g_;
  std::unique_ptr<detail::team> team_;
  std::vector<buffers> own_;  ///< of each thread
  conv2d_blocking by_;
  bool ready_ = false;
  detail::floats weights_;
  detail::floats input_;   ///< in NHWC, if the tensors are not
  detail::floats output_;  ///< likewise
};

/// The convolution in double precision: the truth that a float result is compared with. Sizes as in conv2d; the output
/// is overwritten. On as many cores as it is worth.
inline void conv2d_reference(const conv2d_shape& shape, const float* input, const float* weights, double* output) {
  detail::check(shape);
  const detail::conv2d_tensors at(shape);
  const std::ptrdiff_t in = shape.channels_in / shape.groups, out = shape.channels_out / shape.groups;
  const std::ptrdiff_t places = static_cast<std::ptrdiff_t>(shape.kernel_h) * shape.kernel_w;
  // Weights as {kernel row, kernel column, input channel, output channel}: the inner loop then runs along memory.
  std::vector<double> by_place(shape.weights_size());
  for (std::ptrdiff_t o = 0; o < shape.channels_out; ++o)
    for (std::ptrdiff_t c = 0; c < in; ++c)
      for (std::ptrdiff_t p = 0; p < places; ++p)
        by_place[static_cast<std::size_t>((p * in + c) * shape.channels_out + o)] = weights[(o * in + c) * places + p];
  detail::team all(detail::threads_for(shape.flop()));
  std::vector<double> sums(static_cast<std::size_t>(all.size()) * static_cast<std::size_t>(shape.channels_out));
  all.run([&](int thread) {
    double* const sum = sums.data() + static_cast<std::ptrdiff_t>(thread) * shape.channels_out;
    at.each_pixel(at.rows().part(thread, all.size()), [&](std::ptrdiff_t n, std::ptrdiff_t y, std::ptrdiff_t x) {
      std::fill_n(sum, shape.channels_out, 0.0);
      at.each_place(y, x, [&](std::ptrdiff_t p, std::ptrdiff_t row, std::ptrdiff_t column) {
        for (std::ptrdiff_t c = 0; c < shape.channels_in; ++c) {
          const double factor = input[at.input(n, c, row, column)];
          const double* w = by_place.data() + (p * in + c % in) * shape.channels_out + c / in * out;
          double* s = sum + c / in * out;
          for (std::ptrdiff_t o = 0; o < out; ++o) s[o] += factor * w[o];
        }
      });
      for (std::ptrdiff_t o = 0; o < shape.channels_out; ++o) output[at.output(n, o, y, x)] = sum[o];
    });
  });
}

/// The largest error of an output in units of what rounding can explain; at most 1 for a correct convolution. As
/// `matmul_error`, whose rows are here the inputs that an output pixel sees, and whose columns the weights of an output
/// channel; k is channels_in / groups * kernel_h * kernel_w.
[[nodiscard]] inline double conv2d_error(const conv2d_shape& shape, const float* input, const float* weights,
                                         const float* output, const double* reference) {
  detail::check(shape);
  const detail::conv2d_tensors at(shape);
  const std::ptrdiff_t in = shape.channels_in / shape.groups, out = shape.channels_out / shape.groups;
  const std::ptrdiff_t k = in * shape.kernel_h * shape.kernel_w;
  const detail::rounding_bound bound("conv2d_error: channels_in / groups * kernel_h * kernel_w", k);
  const auto square = [](double x) { return x * x; };
  std::vector<double> filter(static_cast<std::size_t>(shape.channels_out), 0.0);
  for (std::size_t o = 0; o < filter.size(); ++o) {
    for (std::ptrdiff_t i = 0; i < k; ++i) filter[o] += square(weights[static_cast<std::ptrdiff_t>(o) * k + i]);
    filter[o] = std::sqrt(filter[o]);
  }
  // Of each input pixel and group, the sum of squares over its channels.
  std::vector<double> squares(shape.input_size() / static_cast<std::size_t>(in), 0.0);
  const auto square_at = [&](std::ptrdiff_t n, std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t group) {
    return static_cast<std::size_t>(((n * shape.height + row) * shape.width + column) * shape.groups + group);
  };
  for (std::ptrdiff_t n = 0; n < shape.batch; ++n)
    for (std::ptrdiff_t c = 0; c < shape.channels_in; ++c)
      for (std::ptrdiff_t row = 0; row < shape.height; ++row)
        for (std::ptrdiff_t column = 0; column < shape.width; ++column)
          squares[square_at(n, row, column, c / in)] += square(input[at.input(n, c, row, column)]);
  double worst = 0;
  std::vector<double> seen(static_cast<std::size_t>(shape.groups));
  at.each_pixel(at.rows(), [&](std::ptrdiff_t n, std::ptrdiff_t y, std::ptrdiff_t x) {
    std::fill(seen.begin(), seen.end(), 0.0);
    at.each_place(y, x, [&](std::ptrdiff_t, std::ptrdiff_t row, std::ptrdiff_t column) {
      for (std::ptrdiff_t g = 0; g < shape.groups; ++g)
        seen[static_cast<std::size_t>(g)] += squares[square_at(n, row, column, g)];
    });
    for (double& s : seen) s = std::sqrt(s);
    for (std::ptrdiff_t o = 0; o < shape.channels_out; ++o) {
      const auto i = at.output(n, o, y, x);
      worst = bound.larger(worst, static_cast<double>(output[i]) - reference[i],
                           seen[static_cast<std::size_t>(o / out)] * filter[static_cast<std::size_t>(o)]);
    }
  });
  return worst;
}

/// Is `output` the convolution up to rounding? See `conv2d_error`; `reference` comes from `conv2d_reference`.
[[nodiscard]] inline bool conv2d_matches(const conv2d_shape& shape, const float* input, const float* weights,
                                         const float* output, const double* reference) {
  return conv2d_error(shape, input, weights, output, reference) <= 1;
}

}  // namespace tileseek::kernels
