# Homebrew's formula; `make release URL=...` fills in where the tar file is.
class Tracesmith < Formula
  desc "Record, read and replay traces of CPU and GPU programs"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license all_of: ["Apache-2.0", "BSD-2-Clause", "MIT"]

  depends_on "xxhash" => :build
  depends_on "elfutils"
  depends_on "libarchive"
  depends_on "libdeflate"
  depends_on "libedit"
  depends_on "libmicrohttpd"
  depends_on :linux # the recorder uses its futexes, signals and /proc
  depends_on "sqlite"
  depends_on "yajl"
  depends_on "zlib"
  depends_on "zstd"

  def install
    # What it does not depend on is left out, even if it is there.
    system "make", "install", "PREFIX=#{prefix}", "HAVE_BABELTRACE=",
           "HAVE_OTF2="
  end

  test do
    system bin/"ts-record", "-q", "-o", "true.sbt", "true"
    assert_match version.to_s, shell_output("#{bin}/ts-info --version")
  end
end
