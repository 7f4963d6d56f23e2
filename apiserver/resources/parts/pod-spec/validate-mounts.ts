/** Volume mounts and devices of a container. Several paths lack the index, as upstream's do. */
import type { Container, PodSpec } from '../../../../shared/api/types.ts'
import { forbidden, invalid, notFound, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { validateLocalPath } from '../messages.ts'

type Volume = NonNullable<PodSpec['volumes']>[number]
type Mount = NonNullable<Container['volumeMounts']>[number]

export function validateMounts(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
  errors: FieldErrors,
): void {
  const mounts = container.volumeMounts ?? []
  const devices = container.volumeDevices ?? []
  const deviceNames = new Set(devices.map(({ name }) => name))
  const devicePaths = new Set(devices.map(({ devicePath }) => devicePath))
  const mountPaths = new Set<string>()
  for (const [index, mount] of mounts.entries()) {
    const list = `${path}.volumeMounts`
    const at = `${list}[${index}]`
    if (!mount.name) errors.push(required(`${at}.name`))
    const volume = volumes.get(mount.name)
    if (!volume) errors.push(notFound(`${at}.name`, mount.name))
    if (!mount.mountPath) errors.push(required(`${at}.mountPath`))
    if (mountPaths.has(mount.mountPath)) errors.push(invalid(`${at}.mountPath`, mount.mountPath, 'must be unique'))
    mountPaths.add(mount.mountPath)
    if (deviceNames.has(mount.name)) {
      errors.push(invalid(`${at}.name`, mount.name, 'must not already exist in volumeDevices'))
    }
    if (devicePaths.has(mount.mountPath)) {
      errors.push(invalid(`${at}.mountPath`, mount.mountPath, 'must not already exist as a path in volumeDevices'))
    }
    validateSubPaths(mount, list, at, errors)
    validatePropagation(mount, container, `${list}.mountPropagation`, errors)
    validateRecursiveReadOnly(mount, `${list}.recursiveReadOnly`, errors)
  }
  validateDevices(container, volumes, `${path}.volumeDevices`, errors)
}

function validateSubPaths({ subPath, subPathExpr }: Mount, list: string, at: string, errors: FieldErrors): void {
  if (subPath) validateLocalPath(subPath, `${list}.subPath`, errors)
  if (!subPathExpr) return
  if (subPath) {
    errors.push(invalid(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'))
  }
  validateLocalPath(subPathExpr, `${list}.subPathExpr`, errors)
}

const propagations = ['Bidirectional', 'HostToContainer', 'None']

function validatePropagation(mount: Mount, container: Container, field: string, errors: FieldErrors): void {
  const { mountPropagation } = mount
  if (mountPropagation === undefined) return
  if (!propagations.includes(mountPropagation)) errors.push(notSupported(field, mountPropagation, propagations))
  if (mountPropagation === 'Bidirectional' && !container.securityContext?.privileged) {
    errors.push(forbidden(field, 'Bidirectional mount propagation is available only to privileged containers'))
  }
}

const recursives = ['Disabled', 'Enabled', 'IfPossible']

function validateRecursiveReadOnly(mount: Mount, field: string, errors: FieldErrors): void {
  const { recursiveReadOnly } = mount
  if (recursiveReadOnly === undefined) return
  if (!recursives.includes(recursiveReadOnly)) {
    errors.push(notSupported(field, recursiveReadOnly, recursives))
    return
  }
  if (recursiveReadOnly === 'Disabled') return
  if (!mount.readOnly) errors.push(forbidden(field, 'may only be specified when readOnly is true'))
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') {
    errors.push(forbidden(field, 'may only be specified when mountPropagation is None or not specified'))
  }
}

function validateDevices(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
  errors: FieldErrors,
): void {
  const mounts = container.volumeMounts ?? []
  const mountNames = new Set(mounts.map((mount) => mount.name))
  const mountPaths = new Set(mounts.map(({ mountPath }) => mountPath))
  const names = new Set<string>()
  const paths = new Set<string>()
  for (const [index, { name, devicePath }] of (container.volumeDevices ?? []).entries()) {
    const at = `${path}[${index}]`
    const volume = volumes.get(name)
    if (!name) errors.push(required(`${at}.name`))
    if (names.has(name)) errors.push(invalid(`${at}.name`, name, 'must be unique'))
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
      errors.push(invalid(`${at}.name`, name, detail))
    }
    if (!volume) errors.push(notFound(`${at}.name`, name))
    if (!devicePath) errors.push(required(`${at}.devicePath`))
    if (paths.has(devicePath)) errors.push(invalid(`${at}.devicePath`, devicePath, 'must be unique'))
    if (devicePath?.split('/').includes('..')) {
      errors.push(invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"))
    } else paths.add(devicePath)
    if (mountNames.has(name)) {
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeMounts'))
    }
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'))
    }
    if (name) names.add(name)
  }
}
