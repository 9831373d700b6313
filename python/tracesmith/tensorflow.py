"""TensorFlow: epochs and batches of Keras as zones and frames.

    model.fit(x, y, callbacks=[tracesmith.tensorflow.callback()])

Not tried with TensorFlow itself yet: tested against a double of the callbacks.
"""
from . import _tracesmith as native

__all__ = ["callback"]


def callback():
    """A callback for fit, evaluate and predict: batches are zones, each batch
    of training is a frame, and its loss a counter."""
    from tensorflow import keras

    class Callback(keras.callbacks.Callback):
        def _begin(self, name):
            zone = native.zone(name)
            zone.__enter__()
            self.__dict__.setdefault("_open", []).append(zone)

        def _end(self):
            if self.__dict__.get("_open"):
                self._open.pop().__exit__(None, None, None)

        def on_epoch_begin(self, epoch, logs=None):
            self._begin("epoch")

        def on_epoch_end(self, epoch, logs=None):
            self._end()

        def on_train_batch_begin(self, batch, logs=None):
            native.frame("step")
            self._begin("train batch")

        def on_train_batch_end(self, batch, logs=None):
            self._end()
            loss = (logs or {}).get("loss")
            if loss is not None:
                native.counter("loss", float(loss))

        def on_test_batch_begin(self, batch, logs=None):
            self._begin("test batch")

        def on_test_batch_end(self, batch, logs=None):
            self._end()

        def on_predict_batch_begin(self, batch, logs=None):
            self._begin("predict batch")

        def on_predict_batch_end(self, batch, logs=None):
            self._end()

    return Callback()
