import type { JSX } from 'preact'
import { Choice } from '../choice.tsx'
import { Field, More } from '../fields.tsx'
import { useSetupContext } from '../use-setup.ts'
import { Section } from './section.tsx'

const SIDES = [
  { value: 'secret', title: 'Token with a shared secret', text: 'The server signs JWTs (HS256). Simplest.' },
  { value: 'key', title: 'Token with an RSA key', text: 'JWTs (RS256), checked with a public key.' },
  { value: 'api', title: 'My own token API', text: 'Your endpoint makes the credential.' },
] as const

export function CredentialsSection(): JSX.Element {
  const { form } = useSetupContext()
  const chosen = form.choices.credential
  return (
    <Section
      id="credentials"
      intro="What a buyer of a plan gets after paying. Sales of single calls need nothing here."
    >
      <Choice group="credential" legend="How credentials are made" sides={SIDES} />
      {chosen === 'secret' && (
        <Field
          name="TOKEN_SECRET"
          label="Signing secret"
          hint="At least 32 bytes. Whoever checks tokens needs it too; with a backend set above, the server checks them itself."
          canGenerate
        />
      )}
      {chosen === 'key' && (
        <Field
          name="TOKEN_PRIVATE_KEY"
          label="RSA private key (PEM)"
          hint={
            <>
              At least 2048 bits. The public half is served at <code>/.well-known/jwks.json</code>. Further
              keys below the first are older ones that still verify.
            </>
          }
          placeholder={'-----BEGIN PRIVATE KEY-----\n…'}
          lines={5}
        />
      )}
      {chosen === 'api' && (
        <>
          <Field
            name="ISSUE_TOKEN_API"
            label="Token endpoint"
            hint="Gets a POST with the payment after each sale, and answers with the token."
            placeholder="https://api.example.com/issue-token"
            inputMode="url"
          />
          <Field
            name="ISSUE_TOKEN_API_SECRET"
            label="Its bearer secret"
            hint="Sent to your endpoint, so that it knows who asks."
            canGenerate
            optional
          />
        </>
      )}
      <Field
        name="RESOURCE_ENDPOINT"
        label="Where tokens are used"
        hint={
          chosen === 'api'
            ? 'The address of your own server, which checks its tokens. What was bought takes the place of {resourceId}.'
            : 'The address of your own server, which checks the tokens. Leave it empty with a backend set above: this server then checks them, and passes the calls on.'
        }
        placeholder="https://api.example.com/v1/{resourceId}"
        inputMode="url"
        optional
      />
      <More title="Lifetime">
        <Field
          name="TOKEN_TTL_SECONDS"
          label="A token is valid for"
          hint="Unless its plan says otherwise."
          placeholder="1 hour"
          optional
        />
      </More>
    </Section>
  )
}
