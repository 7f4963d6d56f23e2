"""A cluster for pytest, over the command line: started once, reset before each test."""

import json
import os
import shlex
import subprocess

import pytest
from kubernetes import client, config

COMMAND = shlex.split(os.environ.get("KUBESTAGE", "npx kubestage"))


class Cluster:
    def __init__(self, state_dir):
        self.state_dir = str(state_dir)
        self.kubeconfig = os.path.join(self.state_dir, "kubeconfig")

    def kubestage(self, command, *arguments):
        """Runs `kubestage COMMAND …` for this cluster, and returns what it prints."""
        line = [*COMMAND, command, "--state-dir", self.state_dir, *arguments]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout

    def fault(self, rule):
        """Makes requests fail on purpose: `verb: create, resource: pods, then: {status: 503}`."""
        return json.loads(self.kubestage("fault", "add", rule, "-o", "json"))

    def journal(self, **selected):
        """The requests that came: `journal(verb="create", resource="pods")`."""
        flags = [f"--{name}={value}" for name, value in selected.items()]
        return json.loads(self.kubestage("journal", "-o", "json", *flags))


@pytest.fixture(scope="session")
def started_cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("kubestage"))
    cluster.kubestage("up", "--detach", "--port=0", "--storage=memory", "--journal=1000")
    yield cluster
    cluster.kubestage("down")


@pytest.fixture
def cluster(started_cluster):
    started_cluster.kubestage("reset")
    return started_cluster


@pytest.fixture
def core(cluster):
    return client.CoreV1Api(config.new_client_from_config(cluster.kubeconfig))
