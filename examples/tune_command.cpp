// Lets a program in another language measure: examples/worker.py, or whatever is named on the command line.
#include <tileseek/measure/command.hpp>
#include <tileseek/tileseek.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

struct Block {
  int rows = 1, columns = 1;
};

int main(int argc, char** argv) {
  const auto space = tileseek::space<Block>{}
                         .add("rows", &Block::rows, tileseek::powers_of_two(1, 256))
                         .add("columns", &Block::columns, tileseek::powers_of_two(1, 256));
  std::vector<std::string> program(argv + 1, argv + argc);
  if (program.empty()) program = {"python3", "worker.py"};
  try {
    auto worker = tileseek::command(space, {.program = program});
    std::cout << tileseek::tune(space, worker, {.trials = 30}) << '\n';
  } catch (const std::exception& e) {
    std::cerr << "tune_command: " << e.what() << '\n';
    return 2;
  }
}
