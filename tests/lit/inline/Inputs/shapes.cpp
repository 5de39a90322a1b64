// Classes, templates, exceptions: much that the inliner looks at.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  virtual std::string name() const = 0;
};
struct Square : Shape {
  explicit Square(double Side) : Side(Side) {
    if (Side < 0)
      throw std::invalid_argument("a square of " + std::to_string(Side));
  }
  double area() const override { return Side * Side; }
  std::string name() const override { return "square"; }
  double Side;
};
struct Disc : Shape {
  explicit Disc(double Radius) : Radius(Radius) {}
  double area() const override { return 3.141592653589793 * Radius * Radius; }
  std::string name() const override { return "disc"; }
  double Radius;
};
} // namespace

std::map<std::string, double> totals(const std::vector<double> &Sizes) {
  std::vector<std::unique_ptr<Shape>> Shapes;
  for (double Size : Sizes) {
    Shapes.push_back(std::make_unique<Disc>(Size));
    try {
      Shapes.push_back(std::make_unique<Square>(Size));
    } catch (const std::invalid_argument &) {
      Shapes.push_back(std::make_unique<Square>(-Size));
    }
  }
  std::sort(Shapes.begin(), Shapes.end(),
            [](const auto &A, const auto &B) { return A->area() < B->area(); });
  std::map<std::string, double> Totals;
  for (const auto &Each : Shapes)
    Totals[Each->name()] += Each->area();
  return Totals;
}
