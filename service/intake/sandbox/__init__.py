"""Memory-unsafe formats, decoded where a mistake of the decoder's can do no harm: in a child process for each body.

    this process (`decoder`) ──► a warm process (`forker`), which forks ──► a child (`child`)
         body, output, reply: open files that go along         decodes under limits, without system calls but a few

The child leaves a table in the output file: raw numbers and codes, and a header. It may have been taken over by what
it decoded, so it is killed before the file is looked at, and the header is checked against file, limits and itself.
A child that dies, or takes too much memory or time, costs its own request a 422, and no other request anything.
"""
