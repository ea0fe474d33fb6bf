"""One run of the job ``index`` with the multiprocess executor, as a backfill launches it; see living.py."""

import sys

from dagster import DagsterInstance, execute_job, multiprocess_executor, reconstructable

from graphrag_dagster.definitions import defs
from graphrag_dagster.partitions import CORPUS


def index_in_processes():
    """The job, with the executor that gives every step a process."""
    job = defs.resolve_job_def("index")
    return job.with_executor_def(multiprocess_executor) if hasattr(job, "with_executor_def") else job


def main() -> None:
    """Index the corpus of the given name; exits with 1 where the run fails."""
    name = sys.argv[1]
    with DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), [name])
        result = execute_job(
            reconstructable(index_in_processes),
            instance,
            tags={"dagster/partition": name},
            run_config={"execution": {"config": {"max_concurrent": 2}}},
            raise_on_error=False,
        )
    sys.exit(0 if result.success else 1)


if __name__ == "__main__":
    main()
