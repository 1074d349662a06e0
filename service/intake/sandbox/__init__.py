"""Formats with memory-unsafe decoders: each body is decoded in a child process, where an exploit can do no harm.

    this process (`decoder`) ──► a warm process (`forker`), which forks ──► a child (`child`)
         body, output, reply: open file descriptors            decodes under resource limits and a seccomp filter

The child leaves a table in the output file: raw numbers and codes, and a header. The body may have compromised it, so
it is killed before the file is read, and the header is validated. If a child crashes, or uses too much memory or time,
its request is answered with 422; other requests are not affected.
"""
