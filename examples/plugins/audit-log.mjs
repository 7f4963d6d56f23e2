import { createWriteStream } from 'node:fs'

/** One line of JSON for each request when its answer is over, in the file that AUDIT_LOG names. */
export default async function auditLog(app) {
  const file = createWriteStream(process.env.AUDIT_LOG ?? 'audit.jsonl', { flags: 'a', mode: 0o600 })
  app.addHook('onResponse', async ({ kubernetes: { user, verb, path, resource } }, reply) => {
    const entry = { time: new Date().toISOString(), user: user?.name, verb, path, resource, code: reply.statusCode }
    file.write(`${JSON.stringify(entry)}\n`)
  })
  app.addHook('onClose', () => new Promise((resolve) => file.end(resolve)))
}
