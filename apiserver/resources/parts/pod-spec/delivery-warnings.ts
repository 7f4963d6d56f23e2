/** Ways to deliver the termination reason that are valid, and reach no program. */
import type { Container } from '../../../../shared/api/types.ts'

/** `path` is the container's. */
export function deliveryWarnings({ lifecycle }: Container, path: string): string[] {
  const delivery = lifecycle?.preStop?.reasonDelivery
  if (!delivery) return []
  const { env, header } = delivery
  const at = `${path}.lifecycle.preStop.reasonDelivery`
  if (env === undefined && header === undefined) {
    return [`${at}: sets neither "env" nor "header"; the reason is delivered by the default name`]
  }
  if (env === undefined || /^[A-Za-z_][A-Za-z0-9_]*$/.test(env)) return []
  return [
    `${at}.env: no shell reads a variable of the name ${JSON.stringify(env)}; use letters, digits and underscores`,
  ]
}
