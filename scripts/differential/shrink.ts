/** Makes a case smaller while it still shows the same difference. */
import type { Case } from './case.ts'
import type { Difference } from './compare.ts'
import { type Path, pathsOf, valueAt } from './mutate.ts'

type Container = { [key: string | number]: unknown }
/** Plays the case on both servers; the difference is that of its last step. */
export type Differ = (tried: Case) => Promise<Difference | undefined>

/** How many requests one case may cost. */
const maxTries = 400

/** Leaves away requests, parameters and fields, as long as the class and the place of the difference stay. */
export async function shrink(found: Case, difference: Difference, differ: Differ): Promise<Case> {
  const wanted = keyOf(difference)
  let smallest = found
  let tries = 0
  for (let shrunk = true; shrunk; ) {
    shrunk = false
    for (const smaller of smallerThan(smallest)) {
      if (tries++ >= maxTries) return smallest
      const now = await differ(smaller)
      if (!now || keyOf(now) !== wanted) continue
      smallest = smaller
      shrunk = true
      break
    }
  }
  return smallest
}

export const keyOf = ({ class: kind, at }: Difference): string => `${kind} ${at.split(':')[0]!.replace(/ at \d+$/, '')}`

function* smallerThan(known: Case): Generator<Case> {
  yield* withoutStep(known)
  yield* withoutParameter(known)
  yield* withoutField(known)
}

/** Yields the case without one of its requests but the last one. */
function* withoutStep(known: Case): Generator<Case> {
  for (const index of known.steps.keys())
    if (index < known.steps.length - 1) yield { ...known, steps: known.steps.toSpliced(index, 1) }
}

function* withoutParameter(known: Case): Generator<Case> {
  for (const [index, step] of known.steps.entries()) {
    const [path, query] = step.path.split('?') as [string, string?]
    const parameters = query?.split('&') ?? []
    for (const place of parameters.keys()) {
      const left = parameters.toSpliced(place, 1)
      const smaller = { ...step, path: left.length > 0 ? `${path}?${left.join('&')}` : path }
      yield { ...known, steps: known.steps.with(index, smaller) }
    }
    const { accept: _, ...plain } = step
    if (step.accept) yield { ...known, steps: known.steps.with(index, plain) }
  }
}

/** Yields the case without one field, first in all bodies that have it, then in one body alone. */
function* withoutField(known: Case): Generator<Case> {
  const bodies = known.steps.map(({ body }) => body)
  const unique = new Map<string, Path>()
  for (const body of bodies) for (const path of pathsOf(body)) unique.set(JSON.stringify(path), path)
  const paths = [...unique.values()].sort((a, b) => a.length - b.length)
  for (const path of paths) {
    const owners = known.steps.flatMap(({ body }, index) => (valueAt(body, path) === undefined ? [] : [index]))
    const choices = owners.length > 1 ? [owners, ...owners.map((owner) => [owner])] : [owners]
    for (const chosen of choices) {
      const smaller = structuredClone(known)
      for (const index of chosen) remove(smaller.steps[index]!.body, path)
      yield smaller
    }
  }
}

function remove(body: unknown, path: Path): void {
  const parent = valueAt(body, path.slice(0, -1)) as Container
  if (Array.isArray(parent)) parent.splice(path.at(-1) as number, 1)
  else delete parent[path.at(-1)!]
}
