import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { firstFreePort } from '../../../kubelet/runtime/process/network/port-refused.ts'
import { patience, type Stage } from './stage.ts'

/** Waits until the application is ready, and asks it. */
export type Play = (t: Test, stage: Stage) => Promise<void>

const rollout = async (stage: Stage, ...names: string[]): Promise<void> => {
  for (const name of names) await stage.kubectl(['rollout', 'status', name, patience])
}

/** Asks port 80 of the machine for a page of this host. */
async function fetchAs(address: string, host: string): Promise<{ status?: number; text: string }> {
  const [answer] = (await once(get({ host: address, headers: { host }, agent: false }), 'response')) as [
    IncomingMessage,
  ]
  return { status: answer.statusCode, text: await text(answer) }
}

/** Says of each file of `examples/manifests/` what shows that its application works. */
export const plays: Readonly<Record<string, Play>> = {
  async nginx(t, stage) {
    await rollout(stage, 'deployment/nginx-deployment')
    for (const url of ['http://nginx', 'http://nginx.default.svc.cluster.local/index.html'])
      t.match(await stage.get(url), 'Welcome to nginx!', url)
    const logs = await stage.kubectl(['logs', '-l', 'app=nginx', '--tail=-1'])
    t.match(logs, /"GET \/ HTTP\/1.1" 200/, 'its log is the container’s')
    const user = 'cat /proc/*/status | grep -h ^Uid: | sort | uniq -c'
    t.match(await stage.exec('deployment/nginx-deployment', 'sh', '-c', user), /Uid:\s+101/, 'its workers are nginx')
  },

  async guestbook(t, stage) {
    await rollout(stage, 'deployment/redis-leader', 'deployment/redis-follower', 'deployment/frontend')
    t.equal(await stage.ask('redis-cli', '-h', 'redis-leader', 'set', 'greeting', 'hello'), 'OK')
    const read = (): Promise<string> => stage.ask('redis-cli', '-h', 'redis-follower', 'get', 'greeting')
    await stage.until(/^hello$/, read, { what: 'a follower to know it' })
    const page = 'http://frontend/guestbook.php?cmd='
    t.match(await stage.get(`${page}set&key=messages&value=first`), 'Updated')
    await stage.until(/first/, () => stage.get(`${page}get&key=messages`), { what: 'the page to show it' })
    t.match(await stage.ask('redis-cli', '-h', 'redis-leader', 'role'), /^master\s[\s\S]*6379/, 'followers are known')
  },

  async etcd(t, stage) {
    await rollout(stage, 'statefulset/etcd')
    const etcdctl = (words: string) =>
      stage.exec('etcd-0', 'sh', '-c', `etcdctl --endpoints=http://etcd-client:2379 ${words} 2>&1`)
    t.equal(await etcdctl('put greeting hello'), 'OK')
    t.equal((await etcdctl('member list')).split('\n').length, 3)
    const allowed = ['get', 'pdb', 'etcd', '-o', 'jsonpath={.status.disruptionsAllowed}']
    await stage.until(/^1$/, () => stage.kubectl(allowed), { what: 'the budget to allow one disruption' })
    await stage.kubectl(['delete', 'pod', 'etcd-2', '--wait=false'])
    t.match(await etcdctl('get greeting'), 'hello', 'two of three go on')
    await rollout(stage, 'statefulset/etcd')
    const health = (): Promise<string> => etcdctl('endpoint health --cluster')
    await stage.until(/etcd-2[^\n]* is healthy/, health, { what: 'the third to be back' })
  },

  async cronjob(t, stage) {
    await stage.kubectl(['create', 'job', 'at-once', '--from=cronjob/hello'])
    await stage.kubectl(['wait', '--for=condition=Complete', 'job/at-once', patience])
    t.match(await stage.kubectl(['logs', 'job/at-once']), 'Hello from the Kubernetes cluster')
    await stage.kubectl(['delete', 'job', 'at-once'])
    const jobs = ['get', 'jobs', '-o', 'jsonpath={.items[*].status.succeeded}']
    await stage.until(/^1/, () => stage.kubectl(jobs), { what: 'the job of the next minute', timeoutMs: 300_000 })
  },

  async postgres(t, stage) {
    await rollout(stage, 'statefulset/postgres')
    const sql = (words: string): Promise<string> =>
      stage.ask('psql', '-At', 'postgresql://shop:correct-horse@postgres-0.postgres.default.svc/shop', '-c', words)
    await sql('create table items (name text)')
    await sql("insert into items values ('mug')")
    t.equal(await sql('select name from items'), 'mug')
    t.match(await sql('set max_parallel_workers_per_gather = 2; set force_parallel_mode = on; select 1'), '1')
    t.equal(await stage.exec('postgres-0', 'stat', '-c', '%U %a', '/var/lib/postgresql/data/pgdata'), 'postgres 700')
    await stage.kubectl(['delete', 'pod', 'postgres-0'])
    await rollout(stage, 'statefulset/postgres')
    t.equal(await sql('select name from items'), 'mug', 'the claim keeps what was written')
  },

  async wordpress(t, stage) {
    await rollout(stage, 'deployment/wordpress-mysql', 'deployment/wordpress')
    const page = (): Promise<string> => stage.get('http://wordpress/wp-admin/install.php')
    await stage.until(/WordPress/, page, { what: 'the page that installs' })
    const form =
      'weblog_title=Our+shop&user_name=admin&admin_password=correct&admin_password2=correct&pw_weak=1&admin_email=a%40example.com'
    t.match(await stage.ask('curl', '-sS', '-d', form, 'http://wordpress/wp-admin/install.php?step=2'), 'Success')
    t.match(await stage.get('http://wordpress/wp-login.php'), 'Our shop', 'its database answers')
  },

  async 'redis-chart'(t, stage) {
    await rollout(stage, 'statefulset/cache-redis-master', 'statefulset/cache-redis-replicas')
    const cli = (host: string, ...words: string[]): Promise<string> =>
      stage.ask('redis-cli', '-h', host, '--no-auth-warning', '-a', 'correct-horse', ...words)
    t.equal(await cli('cache-redis-master', 'set', 'greeting', 'hello'), 'OK')
    const read = (): Promise<string> => cli('cache-redis-replicas', 'get', 'greeting')
    await stage.until(/^hello$/, read, { what: 'a replica to know it' })
    t.match(await stage.ask('redis-cli', '-h', 'cache-redis-master', 'get', 'greeting'), 'NOAUTH')
    const whoami = 'id -u; touch /opt/bitnami/redis/etc/x && touch /tmp/x && ls /opt/bitnami/redis/secrets'
    const inside = await stage.exec('cache-redis-master-0', 'sh', '-c', whoami)
    t.equal(inside, '1001\nlabels\nredis-password\ntoken')
  },

  async 'log-collector'(_, stage) {
    await stage.kubectl(['rollout', 'status', 'daemonset/log-collector', '-n', 'logging', patience])
    await stage.kubectl([
      'run',
      'chatty',
      '--image=busybox:1.28',
      '--restart=Never',
      '--',
      'echo',
      'something to collect',
    ])
    const collected = ['exec', '-n', 'logging', 'daemonset/log-collector', '--', 'cat', '/var/collected/all.log']
    const line = /chatty_default_chatty-[0-9a-f]+\.log .*something to collect/
    await stage.until(line, () => stage.kubectl(collected), { what: 'the line of another pod' })
    await stage.kubectl(['delete', 'pod', 'chatty', '--now'])
  },

  async hpa(t, stage) {
    await rollout(stage, 'deployment/php-apache')
    t.equal(await stage.get('http://php-apache'), 'OK!')
    t.match(await stage.kubectl(['get', 'hpa', 'php-apache']), /Deployment\/php-apache/)
  },

  async shop(t, stage) {
    const parts = [
      'frontend',
      ...['cart', 'productcatalog', 'currency', 'recommendation', 'shipping', 'payment', 'checkout'].map(
        (name) => `${name}service`,
      ),
    ]
    await rollout(stage, ...parts.map((name) => `deployment/${name}`))
    t.same(JSON.parse(await stage.get('http://frontend/product/1')), { name: 'Mug', usd: 9, eur: 8.1, also: ['2'] })
    for (const product of ['1', '2']) await stage.get(`http://frontend/add/${product}?user=ann`)
    t.match(JSON.parse(await stage.get('http://frontend/checkout?user=ann')), { order: 'paid-113.4', items: 2 })
    const status = await stage.exec('deployment/cartservice', 'cat', '/proc/self/status')
    t.match(status, /Uid:\s+1000\s/)
    t.match(status, /NoNewPrivs:\s+1/)
    t.match(status, /CapEff:\s+0{13}[04]00\n/, 'but for ports below 1024')
    t.match(status, /CapBnd:\s+0{13}[04]00\n/)
    const write = await stage.exec('deployment/cartservice', 'sh', '-c', 'touch /x 2>&1 || true')
    t.match(write, 'Read-only file system')
  },

  async 'network-policies'(t, stage) {
    for (const name of ['blue', 'green']) {
      await stage.kubectl(['rollout', 'status', 'deployment/web', '-n', name, patience])
      await stage.kubectl(['wait', '--for=condition=Ready', 'pod/client', '-n', name, patience])
    }
    const ask = (from: string, to: string): Promise<string> =>
      stage
        .kubectl(['exec', '-n', from, 'client', '--', 'curl', '-sS', '--max-time', '5', `http://web.${to}`])
        .catch((error: Error) => error.message)
    for (const [one, other] of [
      ['blue', 'green'],
      ['green', 'blue'],
    ] as const) {
      await stage.until(/Welcome to nginx!/, () => ask(one, one), { what: `${one} to reach itself` })
      t.match(await ask(one, other), 'timed out', `${one} does not reach ${other}`)
    }
    await t.rejects(stage.get('http://web.blue'), 'nor does another namespace')
  },

  async 'ingress-nginx'(t, stage) {
    await stage.kubectl(['rollout', 'status', 'deployment/ingress-nginx-controller', '-n', 'ingress-nginx', patience])
    await rollout(stage, 'deployment/hello')
    const hostIP = await stage.kubectl(['get', 'node', '-o', 'jsonpath={.items[0].status.addresses[0].address}'])
    const ask = async (host: string): Promise<string> => {
      const answer = await fetchAs(hostIP, host)
      return `${answer.status} ${answer.text}`
    }
    const askFromPod = (host: string): Promise<string> =>
      stage.ask('curl', '-sS', '--max-time', '10', '-w', '%{http_code}', '-H', `Host: ${host}`, `http://${hostIP}/`)
    await stage.until(/Welcome to nginx!/, () => askFromPod('hello.example.com'), {
      what: 'the Ingress to answer pods',
    })
    t.match(await askFromPod('other.example.com'), /404$/)
    // The port of the machine is root's, unless the kernel is told otherwise; an event says how to reach it then.
    if (stage.isRoot || firstFreePort() <= 80) {
      t.match(await ask('hello.example.com'), 'Welcome to nginx!')
      t.match(await ask('other.example.com'), /^404/)
      return
    }
    const events = ['get', 'events', '-n', 'ingress-nginx', '--field-selector=reason=HostPortNotApplied', '-o', 'yaml']
    t.match(await stage.kubectl(events), 'kubectl port-forward to port 80')
    t.match(await stage.forwarded(t, 'ingress-nginx', 'deployment/ingress-nginx-controller', 80), /^404/)
  },
}
