"""`python -m tests.service.operation.stuck_api`: the service with a route whose thread never comes back."""

from __future__ import annotations

import time

from service.__main__ import main
from service.routes import operation


@operation.router.get("/stuck")
def be_stuck() -> None:
    """Never answers."""
    print("stuck now", flush=True)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
