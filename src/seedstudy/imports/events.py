"""TensorBoard event files, read without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seedstudy.errors import UserError
from seedstudy.imports.runlog import RunLog


def read_events(path: Path) -> RunLog:
    """Read one TensorBoard event file, or a folder with the event files of one run.

    Parameters
    ----------
    path : Path
        File, or folder whose ``*tfevents*`` files belong to one run and are read in order of their names.

    Returns
    -------
    RunLog
        A curve a scalar tag, one value a step in order of the steps. A step that a restarted run wrote again counts
        with the value written last, as TensorBoard shows it.

    Raises
    ------
    UserError
        No event file, or a damaged or cut-off one.
    """
    files = sorted(path.rglob("*tfevents*")) if path.is_dir() else [path]
    if not files:
        raise UserError(path, "holds no event file (*tfevents*)")
    steps: dict[str, dict[int, float]] = {}
    for file in files:
        for tag, step, value in _scalars(file):
            steps.setdefault(tag, {})[step] = value
    curves = {tag: tuple(value for _, value in sorted(values.items())) for tag, values in steps.items()}
    return RunLog(path, curves, {tag: values[-1] for tag, values in curves.items()})


def _scalars(file: Path) -> Iterator[tuple[str, int, float]]:
    """Scalars of an event file in the order written."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.tensorflow_stub import errors

    # The reader that tensorboard itself uses where TensorFlow is not installed; it checks the sums of every record.
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
    from tensorboard.util.tensor_util import make_ndarray

    if not file.is_file():
        raise UserError(file, "is no file")
    reader, events = PyRecordReader_New(str(file)), 0
    while True:
        try:
            reader.GetNext()
            event = Event.FromString(reader.record())
        except errors.OutOfRangeError:
            break
        except (errors.DataLossError, DecodeError) as error:
            raise UserError(file, f"is damaged or cut off after {events} event(s)") from error
        events += 1
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                yield value.tag, event.step, float(value.simple_value)
            elif value.WhichOneof("value") == "tensor" and value.metadata.plugin_data.plugin_name in ("scalars", ""):
                array = make_ndarray(value.tensor)
                if array.size == 1 and array.dtype.kind in "fiu":
                    yield value.tag, event.step, float(array.item())
    if not events:
        raise UserError(file, "holds no event")
