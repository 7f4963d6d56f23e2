import { once } from 'node:events'

/** Collects the garbage of the process that V8's inspector at this port belongs to. Returns its heap in use. */
export async function heapMegabytes(port: number): Promise<number> {
  const found = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [{ webSocketDebuggerUrl }] = (await found.json()) as [{ webSocketDebuggerUrl: string }]
  const socket = new WebSocket(webSocketDebuggerUrl)
  await once(socket, 'open')
  const call = async (method: string): Promise<{ usedSize: number }> => {
    const answered = once(socket, 'message') as Promise<[MessageEvent<string>]>
    socket.send(JSON.stringify({ id: 1, method }))
    const [{ data }] = await answered
    return JSON.parse(data).result
  }
  await call('HeapProfiler.collectGarbage')
  const { usedSize } = await call('Runtime.getHeapUsage')
  socket.close()
  return usedSize / 1e6
}
