// What authors of harnesses, stores and agents need to test theirs. Nothing here is loaded by the server, nor needs a test
// runner: what does (`store-contract.ts`, Vitest) is an entry of its own.
/// <reference types="node" preserve="true" />

export { checkLog } from './check-log.ts';
export { createClientModel, type ClientModel } from './client-model.ts';
export { createEngineRig, type EngineRig, type EngineRigOptions } from './engine-rig.ts';
export { createManualClock, type ManualClock } from './manual-clock.ts';
export { readRecording, type Recording } from './recording.ts';
export { RecordingError, type RecordedModel, type RecordedModelOptions } from './recorded-model.ts';
export { createScriptedModel, type ScriptedModel } from './scripted-model.ts';
export { startModelServer } from './model-servers/model-server.ts';
export { simpleCall, simpleText, type ReplyScript, type ScriptedReply } from './model-servers/reply-script.ts';
