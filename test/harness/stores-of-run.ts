import { join } from 'node:path'
import type { ControlPlaneOptions } from '../../cluster/control-plane-options.ts'

/** How many API servers share the store of a test: `KUBESTAGE_APISERVERS=3`. The test asks the last of them. */
export const serversOfRun = (): number => Number(process.env.KUBESTAGE_APISERVERS ?? 1)

/** With `STORE=sqlite` the objects of a test that chooses no storage are in a file. */
export const isFileOfRun = (): boolean => process.env.STORE === 'sqlite'

/** Where each API server of a test has its objects: the first holds the store, the others share it. */
export function storesOfRun(folder: string): Required<Pick<ControlPlaneOptions, 'storage'>>[] {
  const path = join(folder, 'store.sock')
  const first = isFileOfRun()
    ? { engine: 'sqlite' as const, file: join(folder, 'state.db') }
    : { engine: 'memory' as const }
  const others = Array.from({ length: serversOfRun() - 1 }, () => ({ storage: { engine: 'shared' as const, path } }))
  return [{ storage: first, ...(others.length > 0 && { offerAt: path }) }, ...others]
}
