#!/usr/bin/env python3
"""Builds and times TVM schedules: a worker for retune_log (the protocol is docs/command.md).

  retune_log LOG --trials 64 --worker python3 tvm_worker.py --tasks my_tasks.py                       Ansor
  retune_log database_tuning_record.json --trials 64 --worker python3 tvm_worker.py \\
             --workloads database_workload.json                                                 MetaSchedule

Each request has a record in "record": a line of Ansor's log, which is an object, or of MetaSchedule's database, a list.

Ansor (tvm.auto_scheduler) is in TVM up to 0.19. A log names a task by a function that builds it, or by its hash: --tasks is
a Python file that registers it, as it was when the log was written. MetaSchedule (tvm.meta_schedule, tvm.s_tir.meta_schedule since)
keeps its programs in the first file of the database, which only the TVM that wrote it is sure to read.

Ansor builds and runs in processes of its own. A MetaSchedule schedule is built and run in this one: when it crashes or
hangs, retune_log notes that and starts the worker again."""
import argparse
import importlib
import json
import os
import sys


class failed(Exception):
    def __init__(self, status, note):
        super().__init__(note)
        self.status = status


class ansor:
    """Records of Ansor: the task's computation is built anew, and the record's steps are applied to it."""

    def __init__(self, choices):
        from tvm import auto_scheduler

        self.tvm = auto_scheduler
        if choices.tasks:
            # Imported by name: the building processes, which look where this one does, import it again.
            folder, name = os.path.split(os.path.abspath(choices.tasks))
            sys.path.insert(0, folder)
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
            importlib.import_module(os.path.splitext(name)[0])
        self.builder = auto_scheduler.LocalBuilder(timeout=choices.timeout, n_parallel=1)
        self.runner = auto_scheduler.LocalRunner(
            timeout=choices.timeout, number=1, repeat=choices.repeat, min_repeat_ms=choices.milliseconds)

    def seconds(self, line):
        measure = self.tvm.measure
        kinds = measure.MeasureErrorNo
        try:
            record, _ = self.tvm.measure_record.load_record_from_string(line)
            record = measure.recover_measure_input(record, rebuild_state=True)
        except Exception as e:  # a ValueError, TVMError or KeyError: of a task that is not registered, for one
            raise failed("build_failed", f"{type(e).__name__}: {e}")
        built = self.builder.build([record], verbose=0)
        ran = self.runner.run([record], built, verbose=0)[0]
        if ran.error_no == kinds.NO_ERROR:
            return [float(c) for c in ran.costs]
        statuses = {
            kinds.INSTANTIATION_ERROR: "build_failed",
            kinds.COMPILE_HOST: "build_failed",
            kinds.COMPILE_DEVICE: "build_failed",
            kinds.WRONG_ANSWER: "wrong_result",
            kinds.BUILD_TIMEOUT: "timed_out",
            kinds.RUN_TIMEOUT: "timed_out",
        }
        raise failed(statuses.get(ran.error_no, "run_failed"), str(ran.error_msg))


class metaschedule:
    """Records of MetaSchedule: the trace is applied to its workload, then what TVM derives from the decisions."""

    def __init__(self, choices):
        if not choices.workloads:
            raise failed("build_failed", "records of MetaSchedule need --workloads database_workload.json")
        try:
            from tvm import meta_schedule
            from tvm.tir import Schedule
        except ImportError:
            from tvm.s_tir import Schedule, meta_schedule
        self.tvm = meta_schedule
        self.schedule = Schedule
        with open(choices.workloads) as lines:
            self.workloads = [meta_schedule.database.Workload.from_json(json.loads(line)) for line in lines]
        self.config = meta_schedule.runner.EvaluatorConfig(
            number=1, repeat=choices.repeat, min_repeat_ms=choices.milliseconds)

    def seconds(self, line):
        import tvm

        try:
            number, body = json.loads(line)
            record = self.tvm.database.TuningRecord.from_json(body, self.workloads[number])
            schedule = self.schedule(record.workload.mod)
            record.trace.apply_to_schedule(schedule, remove_postproc=True)
            context = self.tvm.TuneContext(
                record.workload.mod, target=record.target, space_generator="post-order-apply", num_threads=1)
            for step in context.space_generator.postprocs:
                if not step.apply(schedule):
                    raise failed("build_failed", f"{step} refuses the schedule")
            module = self.tvm.builder.local_builder.default_build(schedule.mod, record.target, None)
        except failed:
            raise
        except Exception as e:
            raise failed("build_failed", f"{type(e).__name__}: {e}")
        kind = record.target.kind.name
        device = tvm.cpu() if kind in ("llvm", "c") else tvm.device(kind, 0)
        run = self.tvm.runner.local_runner
        try:
            arguments = run.default_alloc_argument(device, [a.as_json() for a in record.args_info], 1)
            return [float(s) for s in run.default_run_evaluator(module, device, self.config, arguments)]
        except Exception as e:
            raise failed("run_failed", f"{type(e).__name__}: {e}")


def main():
    options = argparse.ArgumentParser(description="Builds and times TVM schedules for retune_log.")
    options.add_argument("--tasks", help="Ansor: a Python file that registers the tasks of the log")
    options.add_argument("--workloads", help="MetaSchedule: the database's workload file")
    options.add_argument("--repeat", type=int, default=3, help="samples of a schedule (default: %(default)s)")
    options.add_argument("--milliseconds", type=int, default=100, help="a sample takes at least (default: %(default)s)")
    options.add_argument("--timeout", type=int, default=30, help="Ansor: seconds to build, and to run (default: %(default)s)")
    choices = options.parse_args()
    # What TVM prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kinds = {dict: ansor, list: metaschedule}
    ready = {}
    for text in sys.stdin:
        request = json.loads(text)
        answer = {"id": request["id"]}
        try:
            kind = kinds[type(json.loads(request["record"]))]
            if kind not in ready:
                try:
                    ready[kind] = kind(choices)
                except (ImportError, OSError, ValueError) as e:  # no TVM, one without Ansor, a file that is not there
                    raise failed("build_failed", f"tvm_worker: {type(e).__name__}: {e}")
            answer["seconds"] = ready[kind].seconds(request["record"])
        except failed as e:
            answer["status"] = e.status
            answer["note"] = str(e).strip()[-500:]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
