"""Shows what the real TensorBoard sees in a directory. Run by the Python that has it:

    tensorboard_reader.py LOGDIR

For each line on standard input, both of its loaders read what is new, as in a TensorBoard that stays open,
and two more begin anew. One line of JSON says what they have: {"live": {"python": ..., "server": ...}, "fresh":
{...}}, in each {"scalars": {run: {tag: [[step, value, wall time] ...]}}, "sessions": {run: {"hparams": {...},
"status": ...}}}.
"""
import json
import sys
import time

from tensorboard import context
from tensorboard.backend.event_processing import data_provider
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.data import server_ingester
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from tensorboard.util import grpc_util

EVERYTHING = 1_000_000


class Python:
    """The loader in Python: EventAccumulator and its like."""

    def __init__(self, logdir):
        self.logdir = logdir
        self.multiplexer = plugin_event_multiplexer.EventMultiplexer(
            size_guidance={"tensors": 0}, tensor_size_guidance={"scalars": 0, "hparams": 0})
        self.provider = data_provider.MultiplexerDataProvider(self.multiplexer, logdir)

    def reload(self):
        self.multiplexer.AddRunsFromDirectory(self.logdir)
        self.multiplexer.Reload()


class Server:
    """The data server, which is TensorBoard's own choice."""

    RELOAD_S = 1
    #: It says nothing of when it has reloaded: two whole turns are enough for small files.
    PATIENCE_S = 2 * RELOAD_S + 1

    def __init__(self, logdir):
        self.ingester = server_ingester.SubprocessServerDataIngester(
            server_binary=server_ingester.get_server_binary(), logdir=logdir,
            reload_interval=self.RELOAD_S, channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
            samples_per_plugin={"scalars": 0, "hparams": 0})
        self.ingester.start()
        self.provider = self.ingester.data_provider

    def reload(self):
        pass  # it does so by itself


def look(loader):
    provider, asked = loader.provider, context.RequestContext()
    read = provider.read_scalars(asked, experiment_id="", plugin_name="scalars",
                                 downsample=EVERYTHING)
    scalars = {run: {tag: [[point.step, str(float(point.value)), point.wall_time]
                           for point in points] for tag, points in tags.items()}
               for run, tags in read.items()}
    # What the tab HParams asks for.
    hparams = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    metadata = hparams.hparams_metadata(asked, "")
    experiment = hparams.experiment_from_metadata(
        asked, "", True, metadata, hparams.hparams_from_data_provider(asked, "", limit=1000))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=1000,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE,
                          api_pb2.STATUS_RUNNING])
    for info in experiment.metric_infos:
        request.col_params.add(metric=info.name)
    answer = list_session_groups.Handler(asked, hparams, "", request).run()
    sessions = {}
    for group in answer.session_groups:
        for session in group.sessions:
            sessions[session.name] = {
                "hparams": {name: getattr(value, value.WhichOneof("kind"))
                            for name, value in group.hparams.items()},
                "status": api_pb2.Status.Name(session.status),
                "metrics": sorted(value.name.tag for value in session.metric_values)}
    return {"scalars": scalars, "sessions": sessions}


def main():
    logdir = sys.argv[1]
    kinds = {"python": Python, "server": Server}
    live = {name: kind(logdir) for name, kind in kinds.items()}
    for _ in sys.stdin:
        states = {"live": live, "fresh": {name: kind(logdir) for name, kind in kinds.items()}}
        until = time.monotonic() + Server.PATIENCE_S
        for loaders in states.values():
            for loader in loaders.values():
                loader.reload()
        time.sleep(max(0.0, until - time.monotonic()))
        seen = {state: {name: look(loader) for name, loader in loaders.items()}
                for state, loaders in states.items()}
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
