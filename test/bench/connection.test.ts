import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { openConnection, requestText } from '../../bench/connection.ts'

it('gives up a server that never answers, and says so', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connection = await openConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 50)
  await expect(connection.send(requestText('GET', '/'))).rejects.toThrow('no answer within 0.05 s')
  server.close()
})
