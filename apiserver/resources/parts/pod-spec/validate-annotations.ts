import type { ObjectMeta, PodSpec } from '../../../../shared/api/types.ts'
import { forbidden, invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'

export const MIRROR = 'kubernetes.io/config.mirror'
export const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
export const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod'
export const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/'
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
const seccompProfile = /^(?:unconfined|runtime\/default|docker\/default|localhost\/(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$)).+)$/
const appArmorProfile = /^(?:|unconfined|runtime\/default|localhost\/.+)$/

export function hasPrefix(annotations: ObjectMeta['annotations'], prefix: string): boolean {
  for (const key in annotations) if (key.startsWith(prefix)) return true
  return false
}

export function validatePodAnnotations(meta: ObjectMeta, spec: PodSpec, path: string, errors: FieldErrors): void {
  const annotations = meta.annotations ?? {}
  const mirror = annotations[MIRROR]
  if (mirror !== undefined && !spec.nodeName) {
    errors.push(invalid(`${path}[${MIRROR}]`, mirror, 'must set spec.nodeName if mirror pod annotation is set'))
  }
  const cost = annotations[DELETION_COST]
  if (cost !== undefined && !isCost(cost)) {
    errors.push(invalid(`${path}[${DELETION_COST}]`, cost, 'must be a 32bit integer'))
  }
  const names = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name))
  for (const [key, value] of Object.entries(annotations)) {
    if (key === SECCOMP_POD || key.startsWith(SECCOMP_PREFIX)) {
      if (!seccompProfile.test(value)) errors.push(invalid(`${path}.${key}`, value, 'must be a valid seccomp profile'))
    }
    if (key.startsWith(APP_ARMOR_PREFIX)) {
      const name = key.slice(APP_ARMOR_PREFIX.length)
      if (!names.has(name)) errors.push(invalid(`${path}[${key}]`, name, 'container not found'))
      if (!appArmorProfile.test(value)) {
        errors.push(invalid(`${path}[${key}]`, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`))
      }
    }
  }
}

const isCost = (text: string): boolean => {
  if (!/^(?:0|-?[1-9]\d*)$/.test(text)) return false
  const cost = Number(text)
  return cost >= -2_147_483_648 && cost <= 2_147_483_647
}

/** Mirror and AppArmor annotations are fixed at creation. */
export function validateAnnotationUpdates(meta: ObjectMeta, old: ObjectMeta, path: string, errors: FieldErrors): void {
  const [now, before] = [meta.annotations ?? {}, old.annotations ?? {}]
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const kind =
      key === MIRROR ? 'mirror pod annotation' : key.startsWith(APP_ARMOR_PREFIX) ? 'AppArmor annotations' : ''
    if (!kind || now[key] === before[key]) continue
    const verb = before[key] === undefined ? 'add' : 'remove or update'
    errors.push(forbidden(`${path}[${key}]`, `may not ${verb} ${kind}`))
  }
}
