// The worker that holds the trace, so that the page never waits for it.
import { Bytes, FileSource, Module, UrlSource } from './module';

type Message =
  | { id: number; code: ArrayBuffer }
  | { id: number; base64: string }
  | { id: number; file: Blob }
  | { id: number; url: string }
  | { id: number; question: Uint8Array<ArrayBuffer> };

let module: Promise<Module> | undefined;

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function handle(
  m: Message,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if ('code' in m) {
    module = Module.make(m.code);
    await module;
  } else if ('base64' in m) {
    (await module!).open(new Bytes(fromBase64(m.base64.trim())));
  } else if ('file' in m) {
    (await module!).open(new FileSource(m.file));
  } else if ('url' in m) {
    (await module!).open(new UrlSource(m.url));
  } else {
    return (await module!).ask(m.question);
  }
  return undefined;
}

self.onmessage = async (event: MessageEvent<Message>) => {
  const { id } = event.data;
  try {
    const answer = await handle(event.data);
    self.postMessage(
      { id, answer },
      { transfer: answer ? [answer.buffer] : [] },
    );
  } catch (error) {
    self.postMessage({
      id,
      error: error instanceof Error ? error.message : String(error),
    });
  }
};
