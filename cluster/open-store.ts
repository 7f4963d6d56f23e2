import { checkClusterCa } from '../apiserver/bootstrap/cluster-identity.ts'
import { openStorage, showStorage } from '../apiserver/storage/open-storage.ts'
import type { Storage } from '../apiserver/storage/storage.ts'
import type { ControlPlaneOptions } from './control-plane-options.ts'

/** Opens the storage of an API server. Rejects if other servers share it and belong to another cluster. */
export async function openStore(options: ControlPlaneOptions): Promise<Storage> {
  const { storage = { engine: 'memory' }, pki, log } = options
  const onTrouble = (line: string): void => {
    log.warn(line)
    options.onTrouble?.(line)
  }
  const opened = await openStorage(storage, { ...options, onRoom: (isFull) => tellRoom(options, isFull), onTrouble })
  if (!opened.catchUp) return opened
  try {
    await checkClusterCa(opened, pki.ca.cert)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

function tellRoom({ log, onTrouble, storage }: ControlPlaneOptions, isFull: boolean): void {
  const isFile = storage?.engine === 'sqlite'
  const place = isFile ? `storage file ${storage.file}` : `storage ${showStorage(storage ?? { engine: 'memory' })}`
  const line = isFull
    ? `${place}: ${isFile ? 'the disk is full' : 'its quota is used up'}; reads and deletes go on, other writes are refused until there is room`
    : `${place}: there is room again; writes go on`
  log.warn(line)
  onTrouble?.(line)
}
