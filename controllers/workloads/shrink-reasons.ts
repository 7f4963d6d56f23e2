import { type Reason, reasonFor, reasonTable, type Situation } from '../../shared/reasons/reason-table.ts'

/**
 * Names the annotation that tells a ReplicaSet why it shrinks, which only its Deployment knows. The Deployment writes
 * it together with the size: `1=scaled down;0=template changed, Recreate` says that pods down to the first are deleted
 * because the Deployment was scaled down, and the last one is replaced. The ReplicaSet's loop removes the annotation
 * when the set has its size.
 */
export const SHRINKING = 'kubestage.dev/shrinking'

/** Down to `to` pods for one reason; in a list the largest `to` comes first. */
interface Shrinking {
  to: number
  situation: Situation<'Deployment'>
}

const isKnown = (text: string): text is Situation<'Deployment'> => Object.hasOwn(reasonTable.Deployment, text)

const parse = (text: string | undefined): Shrinking[] =>
  (text ?? '').split(';').flatMap((part) => {
    const [, to, situation = ''] = /^(\d+)=(.+)$/.exec(part) ?? []
    return to !== undefined && isKnown(situation) ? [{ to: Number(to), situation }] : []
  })

const show = (steps: readonly Shrinking[]): string | undefined =>
  steps.length > 0 ? steps.map(({ to, situation }) => `${to}=${situation}`).join(';') : undefined

/** The annotation of a set that gets another size; `situation`: why, where it shrinks. Undefined: none. */
export function withSize(
  annotation: string | undefined,
  { from, to, situation }: { from: number; to: number; situation?: Shrinking['situation'] },
): string | undefined {
  // Pods that are wanted again stay; those before them leave for the reason that they would have had.
  const steps: Shrinking[] = []
  for (const step of parse(annotation)) {
    const kept = Math.max(step.to, to)
    if (steps.at(-1)?.to !== kept) steps.push({ ...step, to: kept })
  }
  if (situation === undefined || to >= from) return show(steps)
  if (steps.at(-1)?.situation === situation) steps.pop()
  return show([...steps, { to, situation }])
}

/** The reasons of the pods that leave a set of `active` pods until `size` are left, in order. */
export function reasonsToShrink(
  annotation: string | undefined,
  { active, size }: { active: number; size: number },
): (Reason | undefined)[] {
  const steps = parse(annotation)
  return Array.from({ length: Math.max(0, active - size) }, (_, index) => {
    const left = active - index - 1
    const step = steps.find(({ to }) => to <= left)
    return step && reasonFor('Deployment', step.situation)
  })
}
