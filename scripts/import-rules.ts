/** Which folders may import, or use, what. Paths are relative to the repository; a folder ends with `/`. */
export interface ImportRule {
  /** Files that the rule speaks about. Default: everything but tests, bench and scripts. */
  files?: readonly string[]
  /** Imports that these files must not have: a folder, a file, or a package. */
  imports?: readonly string[]
  /**
   * A folder whose members must not import each other. A member is what stands in a folder of it: a file, and the
   * folder of its name.
   */
  membersOf?: string
  /** Of these, the imports that are still allowed. */
  but?: readonly string[]
  /** Files that may still import them. */
  except?: readonly string[]
  /** An import of types alone is harmless. */
  typesAllowed?: boolean
  instead: string
}

/** A part of the core, and its door: the one file that satellites may import. Without one it is closed to them. */
export interface Room {
  folder: string
  door?: string
}

/** What stands beside the core. It imports doors; the core imports it in `roots` alone, which put programs together. */
export interface Satellite {
  name: string
  folders: readonly string[]
  roots: readonly string[]
}

export interface WordRule {
  word: RegExp
  except: readonly string[]
  instead: string
}

/** A program of its own: it puts parts together, as cluster/ does. */
export const programs: readonly string[] = ['apiserver/main.ts']
/** What starts or tests the product. */
const above = ['bench/', 'bin/', 'cli/', 'library/', 'scripts/', 'test/']

export const importRules: readonly ImportRule[] = [
  {
    files: ['apiserver/', 'controllers/', 'kubelet/', 'openapi/', 'shared/'],
    imports: [...above, 'cluster/'],
    except: programs,
    instead: 'what starts a program, or tests it, passes what it needs as an argument',
  },
  {
    files: ['cluster/'],
    imports: above,
    instead: 'the command line and the library stand on cluster/: pass what it needs as an argument',
  },
  {
    files: ['library/'],
    imports: ['cli/'],
    instead: 'the library needs no command line: what both need is in cluster/',
  },
  {
    files: ['cli/'],
    imports: ['library/'],
    instead: 'the command line needs no library: what both need is in cluster/',
  },
  {
    files: ['apiserver/'],
    imports: ['kubelet/', 'controllers/'],
    instead: 'the API is the only wire: write it on an object and let the other side watch',
  },
  {
    files: ['controllers/'],
    imports: ['apiserver/', 'kubelet/'],
    instead: 'a controller is a client of the API alone: take a Client (shared/client)',
  },
  {
    files: ['kubelet/'],
    imports: ['apiserver/', 'controllers/'],
    instead: 'the kubelet is a client of the API alone: take a Client (shared/client)',
  },
  {
    files: ['kubelet/pod/'],
    imports: ['kubelet/'],
    but: ['kubelet/pod/'],
    instead: 'a plain fact of a pod follows from its object: what asks a container or a clock belongs in kubelet/pods',
  },
  {
    files: ['shared/'],
    imports: ['apiserver/', 'controllers/', 'kubelet/', 'openapi/'],
    instead: 'shared/ is below everything: pass what it needs as an argument',
  },
  {
    files: ['ui/'],
    imports: ['apiserver/', 'controllers/', 'kubelet/', 'openapi/', 'cluster/', ...above],
    instead: 'the page runs in a browser: it knows records (shared/record) and nothing of a running cluster',
  },
  {
    files: ['ui/story/'],
    imports: ['ui/views/', 'ui/page/', 'preact'],
    instead: 'a story is plain data: what is drawn belongs in ui/views',
  },
  {
    files: ['ui/views/'],
    imports: ['ui/page/'],
    instead: 'views are rendered without a browser as well: pass what they need as an argument',
  },
  {
    files: ['shared/http2/'],
    imports: ['shared/http2/server/', 'shared/client/'],
    except: ['shared/http2/server/'],
    instead: 'what both sides of HTTP/2 share knows neither of them',
  },
  {
    files: ['shared/http2/server/'],
    imports: ['shared/client/'],
    instead: 'a side of HTTP/2 does not know the other: move what both need into shared/http2',
  },
  {
    files: ['shared/client/http2/'],
    imports: ['shared/http2/server/', 'shared/http2/hpack/'],
    instead: 'a side of HTTP/2 does not know the other: move what both need into shared/http2',
  },
  {
    files: ['apiserver/storage/'],
    imports: ['apiserver/'],
    but: ['apiserver/storage/'],
    instead: 'storage knows keys, bytes and revisions only',
  },
  {
    files: ['apiserver/values/'],
    imports: ['apiserver/'],
    but: ['apiserver/values/'],
    instead: 'values/ compares and copies JSON: it knows no kind and no request',
  },
  {
    files: ['apiserver/kind/'],
    imports: [
      'apiserver/http/',
      'apiserver/registry/',
      'apiserver/resources/',
      'apiserver/storage/',
      'apiserver/watchcache/',
    ],
    instead: 'kind/ says what a kind is: who serves, stores and watches it takes a ResourceDefinition',
  },
  {
    files: ['apiserver/auth/', 'apiserver/patch/', 'apiserver/watchcache/'],
    imports: ['apiserver/registry/'],
    instead: 'the registry stands on these: take a ResourceDefinition (kind/), or what is needed as an argument',
  },
  {
    files: ['apiserver/registry/'],
    imports: ['apiserver/resources/'],
    instead: 'the registry treats all kinds alike: what a kind does its own way is in its Strategy (kind/)',
  },
  {
    files: ['apiserver/resources/'],
    imports: ['apiserver/storage/', 'apiserver/http/', 'apiserver/watchcache/'],
    instead: 'a kind is data and pure functions: what it needs is in StrategyContext',
  },
  {
    membersOf: 'apiserver/resources/',
    but: ['apiserver/resources/parts/'],
    except: ['apiserver/resources/index.ts'],
    instead: 'no kind knows another: what kinds share is in resources/parts/',
  },
  {
    imports: ['fastify'],
    except: ['apiserver/http/', 'apiserver/server.ts', 'kubelet/http/'],
    instead: 'only */http and the composition roots know the web server',
  },
  {
    imports: ['node:child_process'],
    except: [
      'kubelet/runtime/process/',
      'kubelet/images/unpack/set-attributes.ts',
      'cluster/supervisor/',
      'bin/',
      'cli/image/',
    ],
    instead: 'processes are started through ContainerRuntime (kubelet/runtime)',
  },
  {
    imports: ['@kubernetes/client-node'],
    except: ['library/users.ts'],
    typesAllowed: true,
    instead: 'use `import type`: as a value it costs 270 ms and 100 MB',
  },
  {
    imports: ['undici'],
    except: ['apiserver/webhook-client/connections.ts', 'kubelet/images/registry/transport.ts'],
    typesAllowed: true,
    instead: 'it takes 20 ms and 11 MB: load it late, through one of the files that have it',
  },
  {
    imports: ['tar-stream'],
    except: ['kubelet/images/'],
    instead: 'archives are read and written where images are stored: kubelet/images',
  },
  {
    imports: ['node:http'],
    typesAllowed: true,
    instead: 'take it from shared/http/node-http.ts: an import of it brings a WebSocket client along',
  },
]

/** A file belongs to the room with the longest name. `shared/` is no room: it is the ground that all stand on. */
export const rooms: readonly Room[] = [
  { folder: 'apiserver/', door: 'apiserver/config.ts' },
  { folder: 'apiserver/http/', door: 'apiserver/http/request-info.ts' },
  { folder: 'apiserver/instruments/', door: 'apiserver/instruments/journal.ts' },
  { folder: 'apiserver/kind/', door: 'apiserver/kind/index.ts' },
  { folder: 'apiserver/registry/', door: 'apiserver/registry/index.ts' },
  { folder: 'apiserver/storage/', door: 'apiserver/storage/engine.ts' },
  { folder: 'apiserver/watchcache/', door: 'apiserver/watchcache/index.ts' },
  { folder: 'cluster/', door: 'cluster/index.ts' },
  { folder: 'controllers/', door: 'controllers/loop-set.ts' },
  { folder: 'kubelet/', door: 'kubelet/config.ts' },
  { folder: 'kubelet/actions/', door: 'kubelet/actions/actions.ts' },
  { folder: 'kubelet/certificates/', door: 'kubelet/certificates/request-certificate.ts' },
  { folder: 'kubelet/dns/', door: 'kubelet/dns/open-dns.ts' },
  { folder: 'kubelet/prober/', door: 'kubelet/prober/probe-worker.ts' },
  { folder: 'kubelet/runtime/', door: 'kubelet/runtime/container-runtime.ts' },
  { folder: 'kubelet/runtime/images/', door: 'kubelet/runtime/images/images.ts' },
  { folder: 'kubelet/runtime/process/', door: 'kubelet/runtime/process/index.ts' },
  { folder: 'openapi/' },
]

export const satellites: readonly Satellite[] = [
  {
    name: 'the page',
    folders: ['ui/', 'apiserver/ui/', 'cli/ui/', 'cli/export/'],
    roots: ['apiserver/satellites.ts'],
  },
  { name: 'the record', folders: ['apiserver/record/', 'cli/record/'], roots: ['apiserver/satellites.ts'] },
  {
    name: 'several servers',
    folders: ['apiserver/several-servers/'],
    roots: ['apiserver/satellites.ts'],
  },
  { name: 'rehearse', folders: ['cli/rehearse/'], roots: [] },
  { name: 'join', folders: ['cli/join/'], roots: [] },
  { name: 'bench', folders: ['bench/'], roots: [] },
  {
    name: 'etcd',
    folders: ['apiserver/storage/etcd/'],
    roots: ['apiserver/storage/open-storage.ts', 'apiserver/storage/copy/', 'cluster/supervisor/local-etcd.ts'],
  },
  { name: 'the shared store', folders: ['apiserver/storage/shared/'], roots: ['apiserver/storage/open-storage.ts'] },
  { name: 'the election', folders: ['controllers/leader-election/'], roots: ['controllers/elected.ts'] },
]

export const wordRules: readonly WordRule[] = [
  {
    word: /\bprocess\.env\b/,
    except: ['cli/main.ts', 'bin/', 'kubelet/config.ts', 'apiserver/config.ts', 'apiserver/main.ts'],
    instead: 'the environment is read once, in config.ts, and passed on',
  },
  {
    // `socket.setTimeout(0)` starts no timer: it ends one.
    word: /\b(?:Date\.now\(|new Date\(\)|performance\.now\(|setTimeout\((?!0\))|setInterval\()/,
    except: ['shared/clock/', 'ui/page/'],
    instead: 'time is an argument: take a Clock (shared/clock)',
  },
  {
    word: /\b(?:(?:Async)?DisposableStack|RegExp\.escape|Promise\.try|Error\.isError|Iterator\.concat|Temporal|Float16Array|getOrInsert|(?:from|to)Base64)\b/,
    except: [],
    instead: 'test suites import the library with Node 22, which does not have it',
  },
  {
    word: /^\s*(?:await )?using \w+ =/m,
    except: [
      'cluster/cluster.ts',
      'cluster/controllers-program.ts',
      'cli/rehearse/index.ts',
      'cli/rehearse/stage/stages.ts',
      'library/start-cluster.ts',
    ],
    instead: "what the bundler makes of it in a loop throws the first round's error in all later ones: try and finally",
  },
]
