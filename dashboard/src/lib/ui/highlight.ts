import { createLowlight } from 'lowlight'
import bash from 'highlight.js/lib/languages/bash'
import go from 'highlight.js/lib/languages/go'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'

// Loaded on demand. It returns tokens instead of HTML; the page renders them as text.

export interface Token {
  text: string
  kind: string
}

type Tree = ReturnType<ReturnType<typeof createLowlight>['highlight']>
type Node = Tree['children'][number]

const lowlight = createLowlight({ bash, go, json, python, sql, typescript })

export function tokensOf(code: string, language: string): Token[] {
  const out: Token[] = []
  const walk = (nodes: Node[], kind: string) => {
    for (const node of nodes) {
      if (node.type === 'text') out.push({ text: node.value, kind })
      else if (node.type === 'element') {
        const names = node.properties.className
        walk(node.children, Array.isArray(names) ? names.join(' ') : kind)
      }
    }
  }
  walk(lowlight.highlight(language, code).children, '')
  return out
}
