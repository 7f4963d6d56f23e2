/** Yields subjects that are one piece smaller: the pod without a container, a probe, a hook, a field or a deed. */
import type { Subject } from './subject.ts'

type Path = (string | number)[]
type Fields = { [key: string | number]: unknown }

/** Without these fields a pod is refused, or is another pod. */
const needed = new Set([
  'name',
  'image',
  'command',
  'containers',
  'volumes',
  'volumeMounts',
  'automountServiceAccountToken',
])
/** What a probe, a hook or a volume is; the whole of it is left out instead. */
const actions = new Set(['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep', 'emptyDir', 'configMap'])
/** The lists whose entries are left out one by one. */
const lists = new Set(['containers', 'initContainers', 'deeds', 'volumes'])

/** The largest pieces come first. */
export function* smallerThan(subject: Subject): Generator<Subject> {
  const paths = [...pathsIn({ deeds: subject.deeds }), ...pathsIn({ pod: { spec: subject.pod.spec } })]
  for (const path of paths.sort((a, b) => a.length - b.length)) {
    const smaller = structuredClone(subject)
    leaveOut(smaller, path)
    if (smaller.pod.spec.containers.length > 0) yield smaller
  }
}

/** The paths of the pieces that may be left out, below a value. */
function* pathsIn(value: object, path: Path = []): Generator<Path> {
  for (const [key, inner] of Object.entries(value)) {
    if (actions.has(key) || key === 'after') continue
    const place = [...path, key]
    if (path.length > 1 && !needed.has(key)) yield place
    if (Array.isArray(inner)) yield* lists.has(key) ? entriesOf(inner, place) : []
    else if (typeof inner === 'object' && inner !== null) yield* pathsIn(inner, place)
  }
}

function* entriesOf(list: unknown[], path: Path): Generator<Path> {
  for (const [index, entry] of list.entries()) {
    const name = (entry as Fields).name
    if (name !== 'shared') yield [...path, index]
    if (path[0] === 'pod') yield* pathsIn(entry as object, [...path, index])
  }
}

function leaveOut(subject: Subject, path: Path): void {
  const parent = path.slice(0, -1).reduce<unknown>((value, key) => (value as Fields)[key], subject)
  const last = path.at(-1)!
  if (Array.isArray(parent)) parent.splice(last as number, 1)
  else delete (parent as Fields)[last]
}
