// Run with --max-old-space-size: prints what opening the file of a store leads to.
import { openSqliteStorage } from '../../../apiserver/storage/sqlite/sqlite.ts'

const [, , file = ''] = process.argv
const outcome = openSqliteStorage({ file }).then(
  async (storage) => {
    await storage.close()
    return 'opened'
  },
  ({ message }: Error) => message,
)
process.stdout.write(await outcome)
