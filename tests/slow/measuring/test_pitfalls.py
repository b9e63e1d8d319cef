"""What the gallery measures in fresh processes, each of which takes seconds to import PyTorch."""

from dlperf.measuring import pitfalls


def test_a_fresh_process_knows_this_module_and_keeps_libraries_to_one_thread():
    threads, seconds = pitfalls.in_fresh_process(
        "[p.torch.get_num_threads(), p.clock_calls(int, 2)]", **pitfalls.ONE_THREAD
    )
    assert threads == 1
    assert len(seconds) == 2
