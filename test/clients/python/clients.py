"""The Python client against a running cluster, which KUBECONFIG names. Run by `python -m unittest`."""

import os
import time
import unittest
import uuid

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.stream import portforward, stream

config.load_kube_config(os.environ["KUBECONFIG"])
core = client.CoreV1Api()
apps = client.AppsV1Api()


def config_map(name, **labels):
    return {"metadata": {"name": name, "labels": labels}, "data": {"key": "value"}}


def shell(name, script):
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    return {
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }


class Case(unittest.TestCase):
    """Has a namespace of its own."""

    def setUp(self):
        body = {"metadata": {"generateName": "python-"}}
        self.space = core.create_namespace(body).metadata.name
        self.addCleanup(core.delete_namespace, self.space)
        self.eventually("the default service account", self.has_account)

    def has_account(self):
        return bool(core.list_namespaced_service_account(self.space).items)

    def eventually(self, what, condition):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def refused(self, status, reason, call, *args, **more):
        with self.assertRaises(ApiException) as caught:
            call(*args, **more)
        self.assertEqual(caught.exception.status, status)
        self.assertIn(f'"reason":"{reason}"', caught.exception.body)
        return caught.exception.body

    def is_gone(self, name):
        try:
            core.read_namespaced_config_map(name, self.space)
        except ApiException as problem:
            return problem.status == 404
        return False


class Objects(Case):
    def test_create_read_update_delete(self):
        created = core.create_namespaced_config_map(self.space, config_map("a"), field_manager="us")
        self.assertEqual(created.metadata.managed_fields[0].manager, "us")
        self.refused(409, "AlreadyExists", core.create_namespaced_config_map, self.space, config_map("a"))
        created.data["key"] = "changed"
        core.replace_namespaced_config_map("a", self.space, created)
        body = self.refused(409, "Conflict", core.replace_namespaced_config_map, "a", self.space, created)
        self.assertIn("the object has been modified", body)
        self.refused(422, "Invalid", core.create_namespaced_config_map, self.space, config_map("No"))
        core.create_namespaced_config_map(self.space, config_map("dry"), dry_run="All")
        self.refused(404, "NotFound", core.read_namespaced_config_map, "dry", self.space)
        status = core.delete_namespaced_config_map("a", self.space)
        self.assertEqual(status.status, "Success")

    def test_patches(self):
        template = {"metadata": {"labels": {"app": "web"}}, "spec": shell("web", "true")["spec"]}
        apps.create_namespaced_deployment(self.space, {
            "metadata": {"name": "web"},
            "spec": {"replicas": 0, "paused": True, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        })

        def patch(body, content_type, **more):
            result = apps.patch_namespaced_deployment("web", self.space, body, _content_type=content_type, **more)
            return [each.image for each in result.spec.template.spec.containers]

        def containers(*items):
            return {"spec": {"template": {"spec": {"containers": list(items)}}}}

        path = "/spec/template/spec/containers/0/image"
        self.assertEqual(patch([{"op": "replace", "path": path, "value": "a:1"}], "application/json-patch+json"), ["a:1"])
        side = containers({"name": "side", "image": "s:1"})
        self.assertEqual(patch(side, "application/strategic-merge-patch+json"), ["s:1", "a:1"])
        self.assertEqual(patch(containers({"name": "o", "image": "o:1"}), "application/merge-patch+json"), ["o:1"])
        applied = {"apiVersion": "apps/v1", "kind": "Deployment", **containers({"name": "o", "image": "p:1"})}
        with self.assertRaises(ApiException) as caught:
            patch(applied, "application/apply-patch+yaml", field_manager="them")
        self.assertIn("FieldManagerConflict", caught.exception.body)
        self.assertEqual(patch(applied, "application/apply-patch+yaml", field_manager="them", force=True), ["p:1"])
        scale = apps.patch_namespaced_deployment_scale("web", self.space, {"spec": {"replicas": 2}})
        self.assertEqual(scale.spec.replicas, 2)

    def test_list_and_watch(self):
        for name in "abcde":
            core.create_namespaced_config_map(self.space, config_map(name, of="five"))
        first = core.list_namespaced_config_map(self.space, label_selector="of=five", limit=2)
        more = core.list_namespaced_config_map(
            self.space, label_selector="of=five", limit=3, _continue=first.metadata._continue)
        self.assertEqual([each.metadata.name for each in first.items + more.items], list("abcde"))
        by_field = core.list_namespaced_config_map(self.space, field_selector="metadata.name=b")
        self.assertEqual(len(by_field.items), 1)
        self.refused(400, "BadRequest", core.list_namespaced_config_map, self.space, field_selector="x=y")

        listed = core.list_namespaced_config_map(self.space, label_selector="of=five")
        core.patch_namespaced_config_map("a", self.space, {"metadata": {"labels": {"of": "six"}}})
        core.delete_namespaced_config_map("b", self.space)
        core.patch_namespaced_config_map("c", self.space, {"data": {"key": "new"}})
        seen = []
        watcher = watch.Watch()
        for event in watcher.stream(core.list_namespaced_config_map, self.space, label_selector="of=five",
                                    resource_version=listed.metadata.resource_version, timeout_seconds=20):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 3:
                watcher.stop()
        self.assertEqual(seen, [("DELETED", "a"), ("DELETED", "b"), ("MODIFIED", "c")])
        core.delete_collection_namespaced_config_map(self.space, label_selector="of=five")
        left = core.list_namespaced_config_map(self.space, label_selector="of")
        self.assertEqual([each.metadata.name for each in left.items], ["a"])

    def test_propagation(self):
        for policy in ["Background", "Foreground", "Orphan"]:
            with self.subTest(policy):
                owner = core.create_namespaced_config_map(self.space, {"metadata": {"generateName": "owner-"}})
                reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name,
                             "uid": owner.metadata.uid, "blockOwnerDeletion": True}
                dependent = core.create_namespaced_config_map(
                    self.space, {"metadata": {"generateName": "dependent-", "ownerReferences": [reference]}})
                core.delete_namespaced_config_map(owner.metadata.name, self.space, propagation_policy=policy)
                self.eventually("the owner's end", lambda: self.is_gone(owner.metadata.name))
                if policy != "Orphan":
                    self.eventually("the dependent's end", lambda: self.is_gone(dependent.metadata.name))
                else:
                    kept = core.read_namespaced_config_map(dependent.metadata.name, self.space)
                    self.assertIsNone(kept.metadata.owner_references)

    def test_create_from_yaml(self):
        objects = [{"apiVersion": "v1", "kind": "ConfigMap", **config_map("from-yaml")},
                   {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}]
        utils.create_from_yaml(client.ApiClient(), yaml_objects=objects, namespace=self.space)
        self.assertEqual(core.read_namespaced_secret("s", self.space).data, {"a": "Yg=="})

    def test_dynamic(self):
        api = dynamic.DynamicClient(client.ApiClient())
        group = f"g{uuid.uuid4().hex[:8]}.example.com"
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
        definitions = api.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
        definitions.create(body={
            "metadata": {"name": f"widgets.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]},
        })
        self.addCleanup(definitions.delete, f"widgets.{group}")

        def find():
            try:
                return api.resources.get(api_version=f"{group}/v1", kind="Widget")
            except dynamic.exceptions.ResourceNotFoundError:
                api.resources.invalidate_cache()
                return None

        self.eventually("the new kind", find)
        widgets = find()
        body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
        widgets.create(body=body, namespace=self.space)
        with self.assertRaises(ConflictError):
            widgets.server_side_apply(body={**body, "spec": {"size": 2}}, namespace=self.space, field_manager="us")
        applied = widgets.server_side_apply(
            body={**body, "spec": {"size": 2}}, namespace=self.space, field_manager="us", force_conflicts=True)
        self.assertEqual(applied.spec.size, 2)
        widgets.delete(name="a", namespace=self.space)
        with self.assertRaises(NotFoundError):
            widgets.get(name="a", namespace=self.space)


class Pods(Case):
    def run_pod(self, body):
        core.create_namespaced_pod(self.space, body)
        name = body["metadata"]["name"]
        self.eventually(
            "a running pod", lambda: core.read_namespaced_pod(name, self.space).status.phase == "Running")

    def log(self, name):
        return core.read_namespaced_pod_log(name, self.space, _preload_content=False).data

    def test_logs_exec_and_eviction(self):
        self.run_pod(shell("talker", "echo first; trap 'exit 0' TERM; while :; do sleep 0.05; done"))
        self.eventually("a log", lambda: self.log("talker") == b"first\n")
        session = stream(core.connect_get_namespaced_pod_exec, "talker", self.space,
                         command=["sh", "-c", "read word; echo got $word; exit 3"],
                         stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
        session.write_stdin("it\n")
        session.run_forever(timeout=30)
        self.assertEqual(session.read_stdout(), "got it\n")
        self.assertEqual(session.returncode, 3)
        core.create_namespaced_pod_eviction("talker", self.space, {"metadata": {"name": "talker"}})
        watcher = watch.Watch()
        following = watcher.stream(
            core.list_namespaced_pod, self.space, field_selector="metadata.name=talker", timeout_seconds=30)
        for event in following:
            if event["type"] == "DELETED":
                watcher.stop()
        self.assertEqual(event["type"], "DELETED")

    def test_port_forward(self):
        server = shell("web", """exec perl -MIO::Socket::INET -e '
            $s = IO::Socket::INET->new(LocalAddr => $ENV{POD_IP}, LocalPort => 8080, Listen => 5) or die;
            $| = 1; print "ready\\n"; while ($c = $s->accept) { $l = <$c>; print $c "you said $l"; close $c }'""")
        server["spec"]["containers"][0]["env"] = [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
        self.run_pod(server)
        self.eventually("a server", lambda: self.log("web") == b"ready\n")
        forwarded = portforward(core.connect_get_namespaced_pod_portforward, "web", self.space, ports="8080")
        connection = forwarded.socket(8080)
        connection.setblocking(True)
        connection.settimeout(30)
        connection.sendall(b"hello\n")
        self.assertEqual(connection.recv(100), b"you said hello\n")
        connection.close()


class Election(Case):
    def test_leader(self):
        class Over(Exception):
            pass

        def lead():
            raise Over

        lock = ConfigMapLock("leader", self.space, "python")
        settings = electionconfig.Config(lock, lease_duration=5, renew_deadline=3, retry_period=1,
                                         onstarted_leading=lead, onstopped_leading=None)
        election = leaderelection.LeaderElection(settings)
        self.assertTrue(election.acquire())
        record = core.read_namespaced_config_map("leader", self.space).metadata.annotations
        self.assertIn('"holderIdentity": "python"', record["control-plane.alpha.kubernetes.io/leader"])


if __name__ == "__main__":
    unittest.main()
