"""What the operating system refused, in one line with the mend."""

import errno
import os

_MENDS = {
    errno.EACCES: "mend its rights, or those of the folder it is in",
    errno.EPERM: "mend its rights, or those of the folder it is in",
    errno.ENOENT: "make it, or name another place",
    errno.ENOTDIR: "a folder on the way is a file: move it away, or name another place",
    errno.EISDIR: "a folder is where a file should be: move it away, or name another place",
    errno.EEXIST: "something else is there: move it away, or name another place",
    errno.ENAMETOOLONG: "use a shorter name or a shorter path",
    errno.EROFS: "the file system cannot be written: set GRAPHRAG_DAGSTER_HOME to a folder that can",
    errno.ENOSPC: "the disk is full: make room, and run again",
    errno.EDQUOT: "your share of the disk is used up: make room, and run again",
    errno.ELOOP: "symbolic links lead in a circle: mend them",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files of this machine",
    errno.ESTALE: "the file server has lost it: mount its file system anew",
    errno.EIO: "the disk or the file server fails: look at the system's log",
    errno.EBUSY: "another process uses it: end that one, and run again",
    errno.ENOMEM: "memory ran out: end other processes, or use a larger machine",
}


def told_of(error: OSError) -> str:
    """Return one line that names the path, what is wrong with it, and the mend."""
    why = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    mend = _MENDS.get(error.errno or 0, "mend it, and run again")
    return f"{' and '.join(names) or 'this system'}: {why[:1].lower()}{why[1:]}; {mend}"
