"""The files of the checkout that a test runs in: those that git knows of, or all where there is no git."""
import os
import subprocess

# Runfiles are links, through the sandbox and Bazel's execution root, to the real file.
_MARKER = os.path.join(os.environ.get("TEST_SRCDIR", ""), os.environ.get("TEST_WORKSPACE", ""), "WORKSPACE")


def root():
    """The directory of the checkout."""
    directory = os.path.dirname(os.path.realpath(_MARKER))
    if not os.path.exists(os.path.join(directory, ".bazelversion")):
        raise RuntimeError("no checkout found from %s: run this with bazel test" % _MARKER)
    return directory


def tracked_files():
    """Paths relative to root(), sorted: tracked files and new ones that git does not ignore. Never empty."""
    top = root()
    try:
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=top, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):  # a release archive, or no git
        listed = []
        for directory, subdirectories, names in os.walk(top):
            subdirectories[:] = [d for d in subdirectories if d != ".git" and not os.path.islink(os.path.join(directory, d))]
            listed += [os.path.relpath(os.path.join(directory, name), top) for name in names]
    files = sorted(f for f in set(listed) if f and os.path.isfile(os.path.join(top, f)) and not os.path.islink(os.path.join(top, f)))
    if not files:
        raise RuntimeError("no files in %s" % top)
    return files
