import type { JSX } from 'preact'
import { Flag } from '../fields.tsx'
import { Section } from './section.tsx'

export function TransportsSection(): JSX.Element {
  return (
    <Section id="transports" intro="x402 over HTTP is always on. Choose what else agents may speak and read.">
      <Flag name="A2A_ENABLED" byDefault label="A2A" hint="Agent to agent, with an agent card." />
      <div class="sub-flags">
        <Flag
          name="A2A_STREAMING"
          byDefault={false}
          label="Streaming"
          hint={
            <>
              Offers <code>message/stream</code>.
            </>
          }
        />
        <Flag
          name="A2A_TRANSFER_PROOFS"
          byDefault
          label="Plain transfers"
          hint="A transfer’s hash, signed by its sender, counts as payment."
        />
      </div>
      <Flag
        name="MCP_ENABLED"
        byDefault={false}
        label="MCP"
        hint={
          <>
            Tools for assistants, at <code>/mcp</code>.
          </>
        }
      />
      <div class="sub-flags">
        <Flag
          name="MCP_ROUTES"
          byDefault={false}
          label="A tool per route"
          hint="Each paid route becomes a tool."
        />
      </div>
      <Flag
        name="DOCUMENTS_ENABLED"
        byDefault
        label="Documents for agents"
        hint="llms.txt, skills.md, openapi.json and others, made from your plans and routes."
      />
    </Section>
  )
}
