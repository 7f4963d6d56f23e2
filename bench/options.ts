import { parseArgs } from 'node:util'

/** What `--only` may name. The files are bench/parts/index.ts and, for `http2`, bench/main.ts. */
const partNames =
  'start,requests,policies,audit,aggregation,list,watch,servers,http2,memory,pods,levels,simulated,many,hooks,probes,network'

export const HELP = `Usage: npm run bench -- [--against COMMIT] [--only PARTS] [--storage etcd] [--real BIN] [--scale PODS] [--growth OBJECTS] [--soak N] [--rounds N] [--pods N] [--profile DIR] [--write]

  --only PARTS   some of ${partNames} (default: all); ui alone: the page, by CHROMIUM
  --chromium FILE  for --only ui (default /usr/bin/chromium)
  --against COMMIT  compares the CPU time of create, get, patch, watch and start with that of a commit; of the rest only --real. Ends with 1
                 if one is slower. day-before: the last commit that is a day older than this one, in CI's short form, which
                 fails for 6 %. --only create,get,patch,watch,start: some of them; --rounds N: how often both servers are started anew (default 5)
  --real BIN     runs kube-apiserver and etcd, the programs in the folder BIN, beside us, in turns and with the same client,
                 and compares rates and CPU time per request (with --only real: nothing else)
  --containerd BIN  runs the pods of --only levels with the containerd of the folder BIN as well
  --storage etcd objects in etcd (the program on the PATH, or in BIN): beside kube-apiserver on the same etcd with --real,
                 else beside objects in memory; also two servers on one etcd, and creates beside bare puts
  --scale PODS   so many simulated pods, step by step, on --simulated-nodes, in memory or with --storage etcd; nothing else
  --simulated-nodes N   for --scale (default 1000)
  --growth OBJECTS  CPU time of each verb, of a pod's start and of an idle server, memory and start, with 1,000, 10,000 and so on up to so many objects; nothing else
  --soak N       prints the heap and the RSS of an API server after each 100,000 of so many requests; nothing else
  --minutes N    how long --scale may take (default 60)
  --rounds N     how often each figure is taken; the median counts (default 5)
  --pods N       how many pods are brought to Running (default 100), and beside 100,000 other objects
  --profile DIR  writes a CPU profile of the server there
  --write        puts what was measured into docs/performance.md or, of --storage, --scale and --growth, into docs/scale.md, and draws the
                 charts of docs/pictures from it
`

export const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: partNames },
    against: { type: 'string' },
    real: { type: 'string' },
    containerd: { type: 'string' },
    storage: { type: 'string', default: 'memory' },
    scale: { type: 'string' },
    growth: { type: 'string' },
    soak: { type: 'string' },
    'simulated-nodes': { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
    pods: { type: 'string', default: '100' },
    profile: { type: 'string' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** How often each figure is taken. */
export const rounds = Number(options.rounds)

const chosen = options.only.split(',')
export const isChosen = (part: string): boolean => chosen.includes(part)
export const areSomeChosen = options.only !== partNames
