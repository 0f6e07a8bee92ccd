import type { ComponentChildren } from 'preact'
import { Card } from './parts.tsx'

interface SecretProps {
  readonly title: string
  readonly secret: string
  readonly children?: ComponentChildren
}

/** Shows a secret, this once; no other page has it. */
export const Secret = ({ title, secret, children }: SecretProps) => (
  <Card title={title}>
    <p>
      <strong>Copie agora: por segurança, não será mostrado de novo.</strong>
    </p>
    <p>
      <code class="secret" id="segredo">
        {secret}
      </code>
    </p>
    <button type="button" data-copy={secret}>
      Copiar
    </button>
    {children}
  </Card>
)
