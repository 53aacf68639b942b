// The disk in memory: a tree of nodes that each know what of them is on the platters.
// Knows nothing of journals and checkpoints.
#include "tests/support/memory_file_system.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

using std::filesystem::path;

struct MemoryFileSystem::Node {
  explicit Node(Kind the_kind) : kind(the_kind) {}

  static std::uint64_t next_version() {
    static std::atomic<std::uint64_t> versions = 0;
    return ++versions;
  }

  void lose_unsynced() {
    if (content != synced_content) version = next_version();
    content = synced_content;
    entries = synced_entries;
    for (auto& [name, node] : entries) node->lose_unsynced();
  }

  Kind kind;
  std::string content, synced_content;
  std::uint64_t version = next_version();  ///< another one after each write
  std::map<std::string, NodePtr> entries, synced_entries;
};

class MemoryFileSystem::OpenFile : public AppendFile {
 public:
  OpenFile(MemoryFileSystem& files, path file, NodePtr node)
      : files_(files), file_(std::move(file)), node_(std::move(node)) {}

  void append(std::string_view bytes) override {
    const auto lock = files_.enter();
    files_.append(*node_, file_, bytes);
  }

  void sync() override {
    const auto lock = files_.enter();
    files_.operation(file_);
    node_->synced_content = node_->content;
    if (files_.find(file_) != node_) {
      throw machine_error("cannot keep " + file_.native() + ": it was removed");
    }
  }

 private:
  MemoryFileSystem& files_;
  path file_;
  NodePtr node_;
};

class MemoryFileSystem::Hold : public DirectoryHold {
 public:
  Hold(MemoryFileSystem& files, int& count) : files_(files), count_(count) { ++count_; }
  ~Hold() override {
    const std::lock_guard lock(files_.mutex_);
    --count_;
  }

 private:
  MemoryFileSystem& files_;
  int& count_;
};

MemoryFileSystem::MemoryFileSystem() : root_(std::make_shared<Node>(Kind::directory)) {}

std::uint64_t MemoryFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

std::uint64_t MemoryFileSystem::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void MemoryFileSystem::fail_operation(std::uint64_t k, int error_number, std::size_t kept_bytes) {
  const std::lock_guard lock(mutex_);
  fault_ = {operations_ + k, error_number, kept_bytes, false};
}

void MemoryFileSystem::die_at_operation(std::uint64_t k, std::size_t kept_bytes) {
  const std::lock_guard lock(mutex_);
  fault_ = {operations_ + k, EIO, kept_bytes, true};
}

void MemoryFileSystem::restart() {
  const std::lock_guard lock(mutex_);
  dead_ = false;
  fault_.reset();
}

void MemoryFileSystem::crash() {
  restart();
  const std::lock_guard lock(mutex_);
  root_->lose_unsynced();
}

void MemoryFileSystem::limit_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

void MemoryFileSystem::fail_reading(const path& name) {
  const std::lock_guard lock(mutex_);
  unreadable_.insert(name);
}

void MemoryFileSystem::mount(const path& directory) {
  const std::lock_guard lock(mutex_);
  mounted_ = directory;
}

void MemoryFileSystem::on_call(std::function<void()> other) {
  const std::lock_guard lock(mutex_);
  other_ = std::move(other);
}

void MemoryFileSystem::set_piece_bytes(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  piece_bytes_ = bytes;
}

void MemoryFileSystem::put(const path& file, std::string_view content) {
  const std::lock_guard lock(mutex_);
  Node* directory = root_.get();
  for (const path& part : file.parent_path().relative_path()) {
    NodePtr& next = directory->entries[part.native()];
    if (!next) next = std::make_shared<Node>(Kind::directory);
    directory->synced_entries[part.native()] = next;
    directory = next.get();
  }
  const auto node = std::make_shared<Node>(Kind::file);
  node->content = node->synced_content = content;
  const std::string name = file.filename().native();
  directory->entries[name] = directory->synced_entries[name] = node;
}

void MemoryFileSystem::put_socket(const path& name) {
  put(name, "");
  const std::lock_guard lock(mutex_);
  find(name)->kind = Kind::socket;
}

std::vector<std::string> MemoryFileSystem::names(const path& directory) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  const std::function<void(const Node&, const std::string&)> visit = [&](const Node& node,
                                                                         const std::string& below) {
    for (const auto& [entry, child] : node.entries) {
      const bool is_directory = child->kind == Kind::directory;
      const std::string name = below + entry + (is_directory ? "/" : "");
      found.push_back(name);
      if (is_directory) visit(*child, name);
    }
  };
  if (const NodePtr node = find(directory)) visit(*node, "");
  std::sort(found.begin(), found.end());
  return found;
}

std::unique_ptr<AppendFile> MemoryFileSystem::open_append(const path& file) {
  const auto lock = enter();
  if (const NodePtr node = find(file)) {
    if (node->kind == Kind::directory) throw file_error("cannot open", file.native(), EISDIR);
    return std::make_unique<OpenFile>(*this, file, node);
  }
  const NodePtr directory = parent_of(file);
  operation(file);
  const auto node = std::make_shared<Node>(Kind::file);
  directory->entries[file.filename().native()] = node;
  return std::make_unique<OpenFile>(*this, file, node);
}

std::string MemoryFileSystem::read(const path& file) {
  std::string content;
  read_pieces(file, [&](std::string_view piece) { content += piece; });
  return content;
}

void MemoryFileSystem::read_pieces(const path& file,
                                   const std::function<void(std::string_view)>& sink,
                                   std::uint64_t begin) {
  std::string content;
  std::size_t piece_bytes = 0;
  {
    const auto lock = enter();
    const NodePtr node = require(file, Kind::file);
    if (unreadable_.contains(file)) throw file_error("cannot read", file.native(), EIO);
    content = node->content.substr(std::min<std::size_t>(begin, node->content.size()));
    piece_bytes = piece_bytes_;
  }
  for (std::string_view rest = content; !rest.empty();) {
    sink(rest.substr(0, piece_bytes));
    rest.remove_prefix(std::min(piece_bytes, rest.size()));
  }
}

void MemoryFileSystem::truncate(const path& file, std::uint64_t bytes) {
  const auto lock = enter();
  const NodePtr node = require(file, Kind::file);
  operation(file);
  node->content.resize(bytes);
  node->version = Node::next_version();
}

void MemoryFileSystem::replace(const path& file, std::string_view content) {
  const path aside = write_aside(file, content);
  try {
    rename(aside, file);
  } catch (const Error&) {
    remove_quietly(aside);
    throw;
  }
  sync_directory(file.parent_path());
}

bool MemoryFileSystem::create_exclusive(const path& file, std::string_view content) {
  const path aside = write_aside(file, content);
  bool created = false;
  try {
    const auto lock = enter();
    operation(file);
    created = parent_of(file)->entries.try_emplace(file.filename().native(), find(aside)).second;
  } catch (const Error&) {
    remove_quietly(aside);
    throw;
  }
  remove_quietly(aside);
  if (!created) return false;
  try {
    sync_directory(file.parent_path());
  } catch (const Error&) {
    remove_quietly(file);
    throw;
  }
  return true;
}

bool MemoryFileSystem::exists(const path& path) {
  const auto lock = enter();
  return find(path) != nullptr;
}

DirectoryEntry MemoryFileSystem::entry_of(const std::string& name, const Node& node) {
  return {name, node.kind == Kind::directory, node.kind == Kind::file, node.content.size(),
          node.kind == Kind::link};
}

std::optional<DirectoryEntry> MemoryFileSystem::entry(const path& path) {
  const auto lock = enter();
  const auto name = path.filename();
  const bool is_dots = name.empty() || name == "." || name == "..";
  const auto directory = follow(is_dots ? path : path.parent_path());
  const NodePtr node = directory ? find(is_dots ? *directory : *directory / name) : nullptr;
  if (!node) return std::nullopt;
  return entry_of(name.native(), *node);
}

path MemoryFileSystem::real_path(const path& name) {
  const auto lock = enter();
  if (auto real = follow(name)) return *real;
  throw file_error("cannot look at", name.native(), ENOENT);
}

/// Where a kernel comes to; nothing if that is not there.
std::optional<path> MemoryFileSystem::follow(const path& name) const {
  path real = "/";
  std::vector<path> ahead(name.begin(), name.end());
  std::reverse(ahead.begin(), ahead.end());
  while (!ahead.empty()) {
    const path part = std::move(ahead.back());
    ahead.pop_back();
    if (part.empty() || part == "." || part == "/") continue;
    if (part == "..") {
      real = real.parent_path();
      continue;
    }
    const NodePtr node = find(real / part);
    if (!node) return std::nullopt;
    if (node->kind != Kind::link) {
      real /= part;
      continue;
    }
    const path target = node->content;
    if (target.is_absolute()) real = "/";
    const std::vector<path> parts(target.begin(), target.end());
    ahead.insert(ahead.end(), parts.rbegin(), parts.rend());
  }
  return real;
}

path MemoryFileSystem::read_link(const path& link) {
  const auto lock = enter();
  return require(link, Kind::link)->content;
}

void MemoryFileSystem::make_link(const path& target, const path& link) {
  const auto lock = enter();
  if (find(link)) throw file_error("cannot create", link.native(), EEXIST);
  const NodePtr directory = parent_of(link);
  operation(link);
  const auto node = std::make_shared<Node>(Kind::link);
  node->content = node->synced_content = target.native();
  directory->entries[link.filename().native()] = node;
}

std::vector<DirectoryEntry> MemoryFileSystem::list(const path& directory) {
  const auto lock = enter();
  if (unreadable_.contains(directory)) throw file_error("cannot read", directory.native(), EIO);
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, node] : require(directory, Kind::directory)->entries) {
    entries.push_back(entry_of(name, *node));
  }
  return entries;
}

void MemoryFileSystem::make_directories(const path& directory) {
  const auto lock = enter();
  if (const NodePtr there = find(directory); there && there->kind == Kind::directory) return;
  operation(directory);
  Node* node = root_.get();
  for (const path& part : directory.relative_path()) {
    if (part.empty()) continue;
    NodePtr& next = node->entries[part.native()];
    if (!next) next = std::make_shared<Node>(Kind::directory);
    if (next->kind != Kind::directory) {
      throw file_error("cannot create directory", directory.native(), ENOTDIR);
    }
    node = next.get();
  }
}

void MemoryFileSystem::rename(const path& from, const path& to) {
  const auto lock = enter();
  const NodePtr node = find(from);
  if (!node) throw file_error("cannot rename", from.native(), ENOENT);
  const auto is_mounted = [&](const path& name) {
    return mounted_ && (name.native() + "/").starts_with(mounted_->native() + "/");
  };
  if (is_mounted(from) != is_mounted(to)) {
    throw CrossDeviceError(file_error("cannot rename", from.native(), EXDEV));
  }
  const NodePtr directory = parent_of(to);
  const NodePtr there = find(to);
  if (there && there->kind == Kind::directory && !there->entries.empty()) {
    throw file_error("cannot rename to", to.native(), ENOTEMPTY);
  }
  operation(from);
  parent_of(from)->entries.erase(from.filename().native());
  directory->entries[to.filename().native()] = node;
}

void MemoryFileSystem::remove_file(const path& file) {
  const auto lock = enter();
  if (!find(file)) return;
  operation(file);
  parent_of(file)->entries.erase(file.filename().native());
}

void MemoryFileSystem::remove_tree(const path& directory) {
  const auto lock = enter();
  const NodePtr node = find(directory);
  if (!node) return;
  remove_below(directory, *node);
  operation(directory);
  parent_of(directory)->entries.erase(directory.filename().native());
}

std::optional<FileStamp> MemoryFileSystem::stamp(const path& file) {
  const auto lock = enter();
  const NodePtr node = require(file, Kind::file);
  return FileStamp{.inode = node->version, .bytes = node->content.size()};
}

void MemoryFileSystem::sync_file(const path& file) {
  const auto lock = enter();
  const NodePtr node = require(file, Kind::file);
  operation(file);
  node->synced_content = node->content;
}

void MemoryFileSystem::sync_directory(const path& directory) {
  const auto lock = enter();
  const NodePtr node = require(directory, Kind::directory);
  operation(directory);
  node->synced_entries = node->entries;
}

std::uint64_t MemoryFileSystem::free_bytes(const path&) {
  const auto lock = enter();
  return capacity_ - std::min(capacity_, used(*root_));
}

void MemoryFileSystem::allow_holds(std::string place) {
  const std::lock_guard lock(mutex_);
  place_ = std::move(place);
}

HoldAnswer MemoryFileSystem::hold(const path& directory, HoldKind kind) {
  const auto lock = enter();
  if (place_.empty()) return {};
  int& drivers = drivers_[directory];
  int& lookers = lookers_[directory];
  const bool is_driving = kind == HoldKind::driving;
  if (drivers > 0 || (is_driving && lookers > 0)) return {.is_taken = true};
  return {std::make_unique<Hold>(*this, is_driving ? drivers : lookers), false, place_};
}

void MemoryFileSystem::touch(const path& file) {
  const auto lock = enter();
  const NodePtr node = require(file, Kind::file);
  operation(file);
  node->version = Node::next_version();
}

/// No two are the same. As nanoseconds they mean times soon after 1970: before any boot.
std::optional<std::int64_t> MemoryFileSystem::modified_ns(const path& file) {
  const auto lock = enter();
  const NodePtr node = find(file);
  if (!node) return std::nullopt;
  return static_cast<std::int64_t>(node->version);
}

std::unique_lock<std::mutex> MemoryFileSystem::enter() {
  std::unique_lock lock(mutex_);
  if (other_) {
    const std::function<void()> other = std::exchange(other_, nullptr);
    ++calls_;
    lock.unlock();
    other();
    lock.lock();
    other_ = other;
  }
  if (dead_) throw machine_error("the process is dead");
  return lock;
}

std::optional<MemoryFileSystem::Fault> MemoryFileSystem::count_operation() {
  ++operations_;
  if (!fault_ || fault_->at != operations_) return std::nullopt;
  dead_ = fault_->fatal;
  return std::exchange(fault_, std::nullopt);
}

void MemoryFileSystem::operation(const path& path) {
  if (const auto fault = count_operation()) {
    throw file_error("cannot change", path.native(), fault->error_number);
  }
}

void MemoryFileSystem::append(Node& node, const path& file, std::string_view bytes) {
  node.version = Node::next_version();
  if (const auto fault = count_operation()) {
    node.content += bytes.substr(0, fault->kept_bytes);
    throw file_error("cannot write", file.native(), fault->error_number);
  }
  const std::uint64_t room = capacity_ - std::min(capacity_, used(*root_));
  node.content += bytes.substr(0, room);
  if (room < bytes.size()) throw file_error("cannot write", file.native(), ENOSPC);
}

void MemoryFileSystem::remove_quietly(const path& file) {
  try {
    remove_file(file);
  } catch (const Error&) {
  }
}

path MemoryFileSystem::write_aside(const path& file, std::string_view content) {
  path aside;
  {
    const std::lock_guard lock(mutex_);
    aside = file.parent_path() /
            ("." + file.filename().native() + ".tmp-1-" + std::to_string(asides_++));
  }
  try {
    const auto out = open_append(aside);
    out->append(content);
    out->sync();
  } catch (const Error&) {
    remove_quietly(aside);
    throw;
  }
  return aside;
}

MemoryFileSystem::NodePtr MemoryFileSystem::find(const path& path) const {
  NodePtr node = root_;
  for (const auto& part : path.relative_path()) {
    if (part.empty() || part == ".") continue;
    const auto entry = node->entries.find(part.native());
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

MemoryFileSystem::NodePtr MemoryFileSystem::require(const path& path, Kind kind) const {
  NodePtr node = find(path);
  if (!node) throw file_error("cannot open", path.native(), ENOENT);
  if (node->kind != kind) {
    throw file_error("cannot open", path.native(), kind == Kind::file ? EISDIR : ENOTDIR);
  }
  return node;
}

MemoryFileSystem::NodePtr MemoryFileSystem::parent_of(const path& path) const {
  return require(path.parent_path(), Kind::directory);
}

void MemoryFileSystem::remove_below(const path& directory, Node& node) {
  while (!node.entries.empty()) {
    const auto& [name, child] = *node.entries.begin();
    remove_below(directory / name, *child);
    operation(directory / name);
    node.entries.erase(node.entries.begin());
  }
}

std::uint64_t MemoryFileSystem::used(const Node& node) const {
  std::uint64_t bytes = node.content.size();
  for (const auto& [name, child] : node.entries) bytes += used(*child);
  return bytes;
}

}  // namespace tune
