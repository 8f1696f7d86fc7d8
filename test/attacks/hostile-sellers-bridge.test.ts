import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findNetwork } from '../../src/protocol/networks.ts'
import { type Assistant, type AssistantOptions, newFolder, startAssistant } from '../e2e/bridge-client.ts'
import { type HostileSeller, type HostileTerms, offer, startHostileSeller } from './hostile-seller.ts'

const on = (word: string) => {
  const { id: network, token } = findNetwork(word)!
  return { network, asset: token.address }
}
const PAY_TO = `0x${'22'.repeat(20)}` as const
const asked: HostileTerms = { ...on('base-sepolia'), payTo: PAY_TO, amount: 1_000_000n, scheme: 'upto' }

describe('attack 43: a seller that changes what a person has agreed to', () => {
  let seller: HostileSeller
  let terms: HostileTerms
  let folder: Awaited<ReturnType<typeof newFolder>>
  let assistant: Assistant | undefined
  beforeEach(async () => {
    terms = asked
    seller = await startHostileSeller()
    seller.answer = ({ payment, path }, response) => {
      if (payment) return void response.end('data')
      if (path !== '/data') return void response.writeHead(404).end()
      offer(response, terms)
    }
    folder = await newFolder()
  })
  afterEach(async () => {
    await assistant?.close()
    seller.stop()
    await folder.remove()
  })

  async function start(person?: AssistantOptions['person'], mode?: 'legacy' | 'auto') {
    const flags = ['--max-amount', '$1.00', '--max-total', '$5.00', '--confirm']
    const privateKey = generatePrivateKey()
    const account = privateKeyToAccount(privateKey)
    const buyer = { privateKey, account, address: account.address }
    const options = { buyer, ledger: folder.path, flags, ...(person && { person }), ...(mode && { mode }) }
    assistant = await startAssistant([`${seller.url}/data`], options)
    return { assistant, tool: (await assistant.tools())[0]!.name }
  }
  const payments = () => seller.visits.filter(({ payment }) => payment !== undefined)

  const changes: Array<[string, Partial<HostileTerms>, RegExp]> = [
    ['real money', on('base'), /up to \$1\.00 in USDC on Base to/],
    ['a fixed price', { scheme: 'exact' }, /^(Pay|This costs) \$1\.00 in USDC on Base Sepolia to/],
    ['another recipient', { payTo: `0x${'33'.repeat(20)}` }, /account 0x33{39}/],
  ]

  test.each(changes)('%s is asked for again by the client, and not paid', async (_what, change, question) => {
    for (const mode of ['legacy', 'auto'] as const) {
      const questions: string[] = []
      terms = asked
      const { assistant, tool } = await start((message) => {
        questions.push(message)
        terms = { ...asked, ...change }
        return questions.length === 1 ? 'accept' : 'decline'
      }, mode)
      const answer = await assistant.call(tool)
      expect(payments(), answer.text).toEqual([])
      expect(questions).toEqual([
        expect.stringMatching(/^Pay up to \$1\.00 in USDC on Base Sepolia to .* \(account 0x22{39}\)/),
        expect.stringMatching(question),
      ])
      await assistant.close()
    }
  })

  test.each(changes)('%s is not paid by the code of the first price', async (_what, change, question) => {
    const { assistant, tool } = await start()
    const told = await assistant.call(tool)
    const codeIn = (text: string) => /code ([A-Z0-9]{6})/.exec(text)?.[1]
    terms = { ...asked, ...change }
    const again = await assistant.call('confirm_payment', { code: codeIn(told.text) })
    expect(again.text).toMatch(question)
    expect(payments()).toEqual([])
    expect(codeIn(again.text)).not.toBe(codeIn(told.text))
  })

  test('the word about an earlier question is not taken for the later one', async () => {
    const questions: string[] = []
    const { assistant, tool } = await start((message) => {
      questions.push(message)
      if (questions.length === 2) return first.then(() => 'decline')
      if (questions.length > 2) return 'decline'
      // While the person reads the first question, the same call is made again and gets other terms.
      terms = { ...asked, ...on('base') }
      second = assistant.call(tool)
      return expect
        .poll(() => questions.length)
        .toBe(2)
        .then(() => 'accept')
    })
    let second: Promise<unknown> | undefined
    const first = assistant.call(tool)
    await first
    await second
    expect(payments()).toEqual([])
    expect(questions).toHaveLength(3)
  })
})
