import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

POD = {
    "metadata": {"name": "web"},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "command": ["sh", "-c", 'echo hello; trap "exit 0" TERM; while :; do sleep 0.1; done'],
            }
        ]
    },
}


def follow(core, until):
    """Waits for the pod by watching it."""
    for event in watch.Watch().stream(
        core.list_namespaced_pod, "default", field_selector="metadata.name=web", timeout_seconds=20
    ):
        if until(event["type"], event["object"]):
            return event["object"]
    raise AssertionError("timed out")


def test_a_pod_runs_and_goes(core):
    core.create_namespaced_pod("default", POD)
    follow(core, lambda _, pod: pod.status.phase == "Running")
    follow(core, lambda *_: "hello" in core.read_namespaced_pod_log("web", "default"))
    core.delete_namespaced_pod("web", "default")
    pod = follow(core, lambda type, _: type == "DELETED")
    assert pod.status.container_statuses[0].state.terminated.exit_code == 0


def test_each_test_begins_anew(core):
    assert core.list_namespaced_pod("default").items == []


def test_a_busy_server(cluster, core):
    cluster.fault("verb: create, resource: configmaps, times: 1, then: {status: 503}")
    body = client.V1ConfigMap(metadata={"name": "a"})
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_config_map("default", body)
    assert refused.value.status == 503
    core.create_namespaced_config_map("default", body)
    codes = [entry["code"] for entry in cluster.journal(verb="create", resource="configmaps")]
    assert codes == [503, 201]
