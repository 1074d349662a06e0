import json
import os
import subprocess
import sys

from tests.servers import ROOT
from tests.worker.stand_in import StandIn
from worker.app import create_app
from worker.store.settings import Settings


def test_numerical_libraries_get_one_thread() -> None:
    """In a process of its own: they read the environment when they are loaded."""
    program = (
        "import json, worker.app, numpy, scipy.linalg, threadpoolctl;print(json.dumps(threadpoolctl.threadpool_info()))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    pools = json.loads(answer.stdout)
    assert pools
    assert {pool["num_threads"] for pool in pools} == {1}


def test_nothing_but_json_is_accepted_and_no_result_is_kept() -> None:
    conf = create_app(Settings(), StandIn()).conf
    assert (conf.accept_content, conf.task_serializer, conf.task_ignore_result) == (["json"], "json", True)
    assert (conf.task_acks_late, conf.task_reject_on_worker_lost, conf.worker_prefetch_multiplier) == (True, True, 1)
